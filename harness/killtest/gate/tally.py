"""A tally: what the trials of one subject add up to."""

from collections.abc import Sequence
from typing import Any

import msgspec

from killtest.campaigns.trial_line import effect_findings
from killtest.report.frame import subject_label
from killtest.report.kill_counts import count_kills

Line = dict[str, Any]
FINDINGS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished")
PROCESSES = ("orphans", "zombies", "ports")
SUMMED = (*FINDINGS, "effects", *PROCESSES, "unfinished")


class Tally(msgspec.Struct, frozen=True):
    """One subject: its controls, its trials, and the kills that struck, in all and by danger window."""

    subject: str
    expect: str
    controls: list[Line]
    trials: list[Line]
    struck: int
    windows: dict[str, int]

    @property
    def lines(self) -> list[Line]:
        """Controls and trials."""
        return [*self.controls, *self.trials]

    @property
    def failed(self) -> list[Line]:
        """The trials whose verdict is FAIL."""
        return [line for line in self.trials if line["outcome"] == "FAIL"]

    def total(self, what: str) -> int:
        """The sum of a count over the trials, the controls left out."""
        return sum(amount(line, what) for line in self.trials)


def tallies(lines: Sequence[Line]) -> list[Tally]:
    """One tally per subject (and variant), in the order in which they appear."""
    labels = dict.fromkeys(subject_label(line) for line in lines)
    return [_tally(label, [line for line in lines if subject_label(line) == label]) for label in labels]


def _tally(label: str, lines: list[Line]) -> Tally:
    trials = [line for line in lines if not line["control"]]
    kills = [count_kills(line) for line in trials]
    windows = {
        "start-up": sum(one.start_up for one in kills),
        "danger": sum(one.danger for one in kills),
        "waiting": sum(one.waiting for one in kills),
        "between": sum(one.between for one in kills),
        "commit": sum(one.commit for one in kills),
        "idle": sum(one.idle for one in kills),
    }
    controls = [line for line in lines if line["control"]]
    # Ledgers from before the field was written hold no known bad examples that say so.
    expect = lines[0].get("expect", "PASS")
    return Tally(label, expect, controls, trials, sum(one.struck for one in kills), windows)


def amount(line: Line, what: str) -> int:
    """How much of `what` a trial holds; 0 where it was not judged."""
    if what == "effects":
        return sum(found["count"] for found in effect_findings(line).values())
    if what == "unfinished":
        return int(line["ending"] not in (None, "finished"))
    if what in PROCESSES:
        return int((line.get("processes") or {}).get(what, 0))
    if what in ("requests", "repeated"):
        return int((line.get("traffic") or {}).get(what, 0))
    return _count((line.get("data") or {}).get(what))


def requests_over(line: Line) -> int | None:
    """Page requests beyond minimum + kills struck; None where nothing was counted."""
    traffic = line.get("traffic")
    return traffic["requests"] - traffic["minimum"] - count_kills(line).struck if traffic else None


def _count(found: Any) -> int:
    return int(found["count"] if isinstance(found, dict) else found or 0)
