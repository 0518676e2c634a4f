"""What a trial of the laboratory says: its line of the ledger, asked by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from killtest.report.frame import Line, subject_label

JOBDIR = "scrapy_jobdir"


class Absent(LookupError):
    """The trial, or this fact about it, is not there: the cell says so instead of a number."""


class Facts:
    """One trial: counts per incarnation, what its JOBDIR held at each border, and what came of it."""

    def __init__(self, line: Line) -> None:
        """`line`: the trial's line of trials.jsonl (docs/trial-line.md)."""
        self.line = line

    def incarnation(self, n: int) -> Line:
        """The n-th start. Absent when there were fewer."""
        if n >= len(self.line["incarnations"]):
            raise Absent(f"{self.line['id']} has no incarnation {n}")
        found: Line = self.line["incarnations"][n]
        return found

    def requests(self, n: int) -> int:
        """Page requests of an incarnation."""
        return int(self.incarnation(n)["requests"])

    def start_pages(self, n: int) -> int:
        """How many of them were for the start page."""
        return int(self.incarnation(n)["start_page"])

    def pages(self, n: int) -> int:
        """Page requests of an incarnation without those for the start page, as the article counts."""
        return self.requests(n) - self.start_pages(n)

    def jobdir(self, n: int) -> Line:
        """The JOBDIR after an incarnation. Absent where none was inspected."""
        found = self.incarnation(n).get("jobdir")
        if not found:
            raise Absent(f"{self.line['id']}: no JOBDIR of incarnation {n}")
        inspected: Line = found
        return inspected

    def bytes_of(self, n: int, ending: str) -> int:
        """The size of the file whose path ends so, after an incarnation."""
        files = self.jobdir(n)["files"]
        for path, size in files.items():
            if path.endswith(ending):
                return int(size)
        raise Absent(f"{self.line['id']}: no file …{ending} after incarnation {n}")

    def fingerprints(self, n: int) -> int:
        """Fingerprints in requests.seen after an incarnation."""
        return int(self.jobdir(n)["fingerprints"])

    def queue(self, n: int) -> Line:
        """The queue of product pages after an incarnation, start requests' queue aside."""
        for queue in self.jobdir(n)["queues"]:
            if not queue["start"]:
                found: Line = queue
                return found
        raise Absent(f"{self.line['id']}: no queue after incarnation {n}")

    def state(self, n: int, name: str) -> int:
        """A value of spider.state, or the length of a list in it."""
        state = self.jobdir(n)["state"]
        if not isinstance(state, dict) or name not in state:
            raise Absent(f"{self.line['id']}: no {name} in spider.state after incarnation {n}")
        return int(state[name])

    def stat(self, n: int, name: str) -> Any:
        """A number of Scrapy's own statistics; 0 where it was not counted. Absent where none were dumped."""
        stats = self.jobdir(n)["stats"]
        if stats is None:
            raise Absent(f"{self.line['id']}: incarnation {n} was killed before it dumped its statistics")
        return stats.get(name, 0)

    @property
    def missing(self) -> int:
        """Products that are not stored in the end."""
        data = self.line["data"]
        return int(data["lost"]["count"]) + int(data["missed"]["count"])

    @property
    def repeated(self) -> int:
        """Page requests more than one for the same page."""
        return int(self.line["traffic"]["repeated"])

    @property
    def overlap(self) -> int:
        """Pages fetched in more than one incarnation."""
        return int(self.line["traffic"]["overlap"])

    @property
    def products(self) -> int:
        """Products of the shop."""
        return int(self.line["data"]["products"])

    @property
    def again(self) -> int:
        """The number of the incarnation that was started once more after the end. Absent without one."""
        for one in self.line["incarnations"]:
            if one["again"]:
                return int(one["number"])
        raise Absent(f"{self.line['id']} was not started again")


class Ledger:
    """The campaign's trials, by subject and group."""

    def __init__(self, lines: Sequence[Line]) -> None:
        """`lines`: trials.jsonl of the campaign `jobdir`."""
        self.lines = [line for line in lines if not line.get("control")]
        self._controls = {subject_label(line): line for line in lines if line.get("control")}
        self._by_name = {(subject_label(line), line["schedule"]["name"]): line for line in self.lines}

    def of(self, variant: str | None, schedule: str, subject: str = JOBDIR) -> Facts:
        """The trial of a subject's variant under a schedule. Absent when it has not run, or is UNKNOWN."""
        line = self._by_name.get((f"{subject}:{variant}" if variant else subject, schedule))
        if line is None or line.get("outcome") not in ("PASS", "FAIL"):
            raise Absent(f"no judged trial of {subject}:{variant} under {schedule}")
        return Facts(line)

    def control(self, variant: str) -> Facts:
        """The undisturbed trial of a variant. Absent when it has not run."""
        line = self._controls.get(f"{JOBDIR}:{variant}")
        if line is None or not line.get("data"):
            raise Absent(f"no control of {JOBDIR}:{variant}")
        return Facts(line)
