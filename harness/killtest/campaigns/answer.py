"""What a trial answered, as far as two runs of one schedule must agree: outcome, ending, findings with their keys."""

from collections.abc import Mapping, Sequence

import msgspec

from killtest.campaigns.trial_line import FINDINGS, Line, effect_findings
from killtest.judge.evidence import Course
from killtest.judge.verdict import Verdict

# Rows that went and came back are a cost.
_COSTS = ("set_back",)
_LEFT_BEHIND = ("orphans", "zombies", "ports")
_WORDS = {"false_done": "said it was done"}


class Answer(msgspec.Struct, frozen=True):
    """`findings` goes from each finding's name to its keys; one that has no keys of its own is there with none.

    A line of the ledger holds the first keys only; `counts` says how many there are.
    """

    outcome: str
    ending: str | None
    findings: dict[str, tuple[str, ...]]
    counts: dict[str, int]

    @property
    def names(self) -> tuple[str | None, frozenset[str]]:
        """What it found, whatever the keys."""
        return self.ending, frozenset(self.findings)

    def is_like(self, other: "Answer", same_keys: bool = False) -> bool:
        """Whether outcome, ending and the set of findings are the same, and their keys if that is wanted.

        Of keys that were cut, those that are there must be the other's too.
        """
        if (self.outcome, self.names) != (other.outcome, other.names):
            return False
        return not same_keys or (self.counts == other.counts and all(self._shares(other, name) for name in self.counts))

    def _shares(self, other: "Answer", name: str) -> bool:
        fewer, more = sorted((set(self.findings[name]), set(other.findings[name])), key=len)
        return fewer <= more


def of_line(line: Line) -> Answer:
    """The answer in a line of the ledger, whose lists of keys may have been cut."""
    data = line["data"]
    found = {name: data[name] for name in _names() if data and name in data and data[name]["count"]}
    found |= effect_findings(line)
    plain = {"false_done"} if data and data["false_done"] else set()
    plain |= {name for name in _LEFT_BEHIND if (line["processes"] or {}).get(name)}
    keys = {name: _sorted(one["keys"]) for name, one in found.items()}
    counts = {name: one["count"] for name, one in found.items()}
    return _answer(line["outcome"], line["ending"], keys, counts, plain)


def of_verdict(verdict: Verdict, course: Course) -> Answer:
    """The answer of a judge who has the whole evidence, with every key."""
    keys = {name: _sorted(getattr(verdict.data, name)) for name in _names() if getattr(verdict.data, name, None)}
    keys |= {name: _sorted(found) for name, found in verdict.effects.named.items()}
    plain = {"false_done"} if verdict.false_done else set()
    plain |= {name for name in _LEFT_BEHIND if getattr(course, name)}
    counts = {name: len(found) for name, found in keys.items()}
    return _answer(verdict.outcome, course.ending, keys, counts, plain)


def _answer(
    outcome: str, ending: str | None, keys: dict[str, tuple[str, ...]], counts: dict[str, int], plain: set[str]
) -> Answer:
    """The answer with findings that have keys, and the `plain` ones that have none, in an order of their own."""
    named = [name for name in ("false_done", *_LEFT_BEHIND) if name in plain]
    return Answer(outcome, ending, keys | dict.fromkeys(named, ()), counts | dict.fromkeys(named, 0))


def _names() -> list[str]:
    return [name for name in FINDINGS if name not in _COSTS]


def _sorted(keys: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(sorted(keys))


def words(answers: Sequence[Answer]) -> str:
    """Findings and ending of answers with the same names, in words; the numbers of keys as a range."""
    first = answers[0]
    told = [_counted(name, [one.counts[name] for one in answers]) for name in first.findings]
    if first.ending not in ("finished", None):
        told.append(str(first.ending).replace("_", " "))
    return ", ".join(told) or "nothing wrong"


def _counted(name: str, counts: list[int]) -> str:
    if not any(counts):
        return _WORDS.get(name, f"{name} left behind")
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low} to {high}'} {name.replace('_', ' ')}"
