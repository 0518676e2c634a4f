"""A breach: one limit that one subject did not keep, with proof and the command that reproduces it."""

from typing import Any, Literal

import msgspec

Line = dict[str, Any]


class Breach(msgspec.Struct, frozen=True):
    """What was over (or under) its limit.

    `outcome` is what it makes of the gate; `what` is the budget's word; `trials` are the ids concerned, the worst
    first, none where it is about the subject as a whole; `evidence` and `reproduce` belong to the first.
    """

    outcome: Literal["FAIL", "UNKNOWN"]
    subject: str
    what: str
    message: str
    trials: tuple[str, ...] = ()
    evidence: str | None = None
    reproduce: str | None = None

    @property
    def where(self) -> str:
        """The trials in words."""
        more = f" and {len(self.trials) - 1} more" if len(self.trials) > 1 else ""
        return f"{self.trials[0]}{more}" if self.trials else "the campaign"


def of_trials(outcome: Literal["FAIL", "UNKNOWN"], what: str, message: str, subject: str, lines: list[Line]) -> Breach:
    """A breach by these trials, the worst first, whose evidence and command stand for all."""
    first = lines[0]
    trials = tuple(line["id"] for line in lines)
    return Breach(outcome, subject, what, message, trials, first.get("evidence"), first.get("reproduce"))


def words(breach: Breach, folder: str) -> str:
    """The breach as one line: what, where, evidence, reproduce."""
    parts = [f"{breach.outcome}  {breach.subject}  {breach.what}: {breach.message}; in {breach.where}"]
    parts += [f"evidence: {folder}/{breach.evidence}/"] if breach.evidence else []
    parts += [f"reproduce: {breach.reproduce}"] if breach.reproduce else []
    return "; ".join(parts)
