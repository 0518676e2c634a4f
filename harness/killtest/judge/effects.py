"""What the subject did beyond its rows, judged: files, webhooks, counters, captures (docs/verdict.md). Pure."""

from collections.abc import Mapping

import msgspec

from killtest.judge import effects_captures, effects_counters, effects_files, effects_webhooks
from killtest.judge.evidence import Evidence
from killtest.judge.request_log import Proper
from killtest.judge.truth import numbers_of
from killtest.plan.effects import EffectNeeds
from killtest.store.effects import StoredEffects

# What may be found of each kind; every one of these is a finding.
FINDINGS = {
    "files": ("missing", "truncated", "wrong", "doubled", "stale"),
    "webhooks": ("twice", "never", "wrong"),
    "counters": ("wrong", "missing"),
    "captures": ("missing", "wrong", "torn"),
}
# What did no harm.
COSTS = {"webhooks": ("deduplicated",), "captures": ("extra",)}


class Effects(msgspec.Struct, frozen=True):
    """Findings and costs of the kinds that are declared.

    `findings` goes from a kind and a finding to its keys (or paths, or places), each with a detail; those with none
    are left out. `costs` are counts. A kind that could not be read has the finding `unreadable`.
    """

    kinds: tuple[str, ...] = ()
    findings: dict[str, dict[str, dict[str, str]]] = {}
    costs: dict[str, dict[str, int]] = {}

    @property
    def has_finding(self) -> bool:
        """True when anything but a cost was found."""
        return any(self.findings.values())

    @property
    def named(self) -> dict[str, dict[str, str]]:
        """The findings under names of one word with a dot, such as `files.missing`."""
        return {f"{kind}.{name}": keys for kind, found in self.findings.items() for name, keys in found.items()}


# Every name that `named` may hold, in order.
NAMES = tuple(f"{kind}.{name}" for kind, names in FINDINGS.items() for name in (*names, "unreadable"))


def judge(evidence: Evidence, proper: int) -> Effects:
    """The effects at the end of the trial proper, whose incarnations are the first `proper` ones.

    Where the rows can't be read nothing is judged: there is nothing to hold the effects against.
    """
    needs, last = evidence.effects, evidence.course.snapshots[proper - 1]
    stored = last.effects or StoredEffects()
    if not needs.kinds or last.error is not None:
        return Effects(needs.kinds)
    products, requests = evidence.truth.rows, Proper(evidence.requests, proper)
    numbers = numbers_of(products)
    rows = {row.key: row for row in last.rows if row.key is not None and row.key in numbers}
    findings: dict[str, dict[str, dict[str, str]]] = {}
    costs: dict[str, dict[str, int]] = {}
    if needs.files is not None:
        findings["files"] = effects_files.judge(stored.files, needs.files, rows, products, requests)
    if needs.webhooks is not None:
        announced = effects_webhooks.announced(requests, needs.webhooks, products, numbers)
        findings["webhooks"] = effects_webhooks.judge(announced, rows, products, numbers)
        costs["webhooks"] = {"deduplicated": announced.deduplicated}
    if needs.counters is not None:
        before = [one.effects.counters for one in evidence.course.snapshots[: proper - 1] if one.effects is not None]
        findings["counters"] = effects_counters.judge(stored.counters, before, last.rows)
    if needs.captures is not None:
        served = effects_captures.served(evidence.truth)
        findings["captures"], extra = effects_captures.judge(stored, rows, products, numbers, served)
        costs["captures"] = {"extra": extra}
    findings |= {kind: {"unreadable": {kind: why}} for kind, why in stored.unreadable.items()}
    return Effects(needs.kinds, {kind: _filled(found) for kind, found in findings.items() if _filled(found)}, costs)


def _filled(found: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {name: keys for name, keys in found.items() if keys}


def announced_again(evidence: Evidence, proper: int) -> bool:
    """Whether an `again` start announced what had been announced before, or what is nothing."""
    needs: EffectNeeds = evidence.effects
    if needs.webhooks is None:
        return False
    products = evidence.truth.rows
    numbers = numbers_of(products)
    before, after = (
        effects_webhooks.announced(requests, needs.webhooks, products, numbers)
        for requests in (Proper(evidence.requests, proper), evidence.requests)
    )
    return before.bodies != after.bodies or before.wrong != after.wrong
