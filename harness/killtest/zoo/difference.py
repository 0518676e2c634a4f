"""Expectation against outcome, field by field, and verdicts in words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from killtest.campaigns.trial_line import Line
from killtest.zoo.expectation import KEY_LISTS, Expectation, completed, folded, in_order, observed

_FLAGS = {"false_done": "said it was done", "not_idempotent": "running it again changed its rows"}
_COUNTS = ("orphans", "zombies", "ports", "self_deaths")
_COSTS = ("requests", "repeated", "overlap", "max_concurrent", "late")


class Difference(NamedTuple):
    """One field that came out otherwise, in words."""

    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        """One line of it."""
        return f"{self.field}: expected {self.expected}, found {self.found}"


def differences(said: Expectation, trial: Line, control: Line) -> list[Difference]:
    """Every field in which the trial and its control deviate from what was said; none when it all agrees."""
    found = observed(trial, control)
    wanted = completed(said, len(trial["schedule"]["faults"]))
    told = [
        Difference(name, _told(name, value), _told(name, found[name]))
        for name, value in wanted.items()
        if name in found and value != found[name]
    ]
    # Without data there is nothing to compare but the outcome, and why.
    return told + ([Difference("problem", "none", trial["problem"])] if trial["data"] is None else [])


def _told(name: str, value: Any) -> str:
    if name == "effects":
        return "; ".join(_effects(value)) or "none"
    return folded(value) or "none" if name in KEY_LISTS else _words(value)


def _effects(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Each finding about effects with its keys: `webhooks twice SKU-00007`."""
    return [f"{name.replace('.', ' ')} {folded(keys)}" for name, keys in found.items()]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        by_extra = {extra: in_order(key for key in value if value[key] == extra) for extra in sorted(value.values())}
        return ", ".join(f"{folded(keys)} +{extra}" for extra, keys in by_extra.items()) or "none"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def expected_words(said: Expectation, faults: int) -> str:
    """The whole expectation as people read it, with each key."""
    return verdict_words(completed(said, faults))


def observed_words(trial: Line, control: Line) -> str:
    """What came out, in the words of `expected_words`; costs are left out."""
    costless = {name: value for name, value in observed(trial, control).items() if name not in (*_COSTS, "windows")}
    return verdict_words(costless)


def verdict_words(facts: Mapping[str, Any]) -> str:
    """Outcome first, then all that is not as in an undisturbed crawl."""
    cause = " without any fault" if facts["cause"] == "control" else ""
    parts = [f"{facts['outcome']}{cause}"]
    if facts.get("ending", "finished") != "finished":
        detail = f" ({facts['ending_detail']})" if facts.get("ending_detail") else ""
        parts.append(f"{facts['ending'].replace('_', ' ')}{detail}")
    parts += [f"{name.replace('_', ' ')} {folded(facts[name])}" for name in KEY_LISTS if facts.get(name)]
    parts += [f"duplicated {_words(facts['duplicated'])}"] if facts.get("duplicated") else []
    parts += _effects(facts.get("effects", {}))
    parts += [words for name, words in _FLAGS.items() if facts.get(name)]
    parts += [f"{name.replace('_', ' ')} {facts[name]}" for name in _COUNTS if facts.get(name)]
    if any(status != "struck" for status in facts.get("statuses", ())):
        parts.append(f"faults {', '.join(facts['statuses'])}".replace("_", " "))
    parts += [f"{name.replace('_', ' ')} {facts[name]}" for name in _COSTS if name in facts]
    parts += [f"windows {', '.join(facts['windows'])}"] if "windows" in facts else []
    return "; ".join(parts)
