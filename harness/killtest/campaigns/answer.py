"""What a trial answered, as far as two runs of one schedule must agree: outcome, ending, findings with their keys."""

from collections.abc import Sequence

import msgspec

from killtest.campaigns.trial_line import FINDINGS, Line
from killtest.judge.evidence import Course
from killtest.judge.verdict import Verdict

# Rows that went and came back are a cost.
_COSTS = ("set_back",)
_LEFT_BEHIND = ("orphans", "zombies", "ports")
_WORDS = {"false_done": "said it was done", "not_idempotent": "running it again changed its rows"}


class Answer(msgspec.Struct, frozen=True):
    """`findings` goes from each finding's name to its keys; one that has no keys of its own is there with none."""

    outcome: str
    ending: str | None
    findings: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str | None, frozenset[str]]:
        """What it found, whatever the keys."""
        return self.ending, frozenset(self.findings)

    def is_like(self, other: "Answer", same_keys: bool = False) -> bool:
        """Whether outcome, ending and the set of findings are the same, and their keys if that is wanted."""
        return self == other if same_keys else (self.outcome, self.names) == (other.outcome, other.names)


def of_line(line: Line) -> Answer:
    """The answer in a line of the ledger, whose lists of keys may have been cut."""
    data, findings = line["data"], {}
    if data is not None:
        findings = {name: _sorted(data[name]["keys"]) for name in _names() if name in data and data[name]["count"]}
        findings |= {"false_done": ()} if data["false_done"] else {}
    left = {name: () for name in _LEFT_BEHIND if (line["processes"] or {}).get(name)}
    return Answer(line["outcome"], line["ending"], findings | left)


def of_verdict(verdict: Verdict, course: Course) -> Answer:
    """The answer of a judge who has the whole evidence, with every key."""
    data, findings = verdict.data, {}
    if data is not None:
        findings = {name: _sorted(getattr(data, name)) for name in _names() if getattr(data, name)}
        findings |= {"false_done": ()} if verdict.false_done else {}
    left = {name: () for name in _LEFT_BEHIND if getattr(course, name)}
    return Answer(verdict.outcome, course.ending, findings | left)


def _names() -> list[str]:
    return [name for name in FINDINGS if name not in _COSTS]


def _sorted(keys: dict[str, object]) -> tuple[str, ...]:
    return tuple(sorted(keys))


def words(answers: Sequence[Answer]) -> str:
    """Findings and ending of answers with the same names, in words; the numbers of keys as a range."""
    first = answers[0]
    told = [_counted(name, [len(one.findings[name]) for one in answers]) for name in first.findings]
    if first.ending not in ("finished", None):
        told.append(str(first.ending).replace("_", " "))
    return ", ".join(told) or "nothing wrong"


def _counted(name: str, counts: list[int]) -> str:
    if not any(counts):
        return _WORDS.get(name, f"{name} left behind")
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low} to {high}'} {name.replace('_', ' ')}"
