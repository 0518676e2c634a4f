"""What several workers on one store promise, against what the campaign `workers` measured.

Reads results/workers (`make workers` writes it) and prints a row per trial: rows, doubled and missing ones, requests
and how many there may be, and leases that lapsed. There may be as many requests as the crawl needs at least, and for
each strike those in flight; of workers that a strike ended or paused also the page that was answered and not yet
stored, one for each. A page is in two hands only where one of them was struck, or
their server was away: a lapse that no strike
explains, and a page fetched by two at a time whose lease is not named, break the promise. Ends with 1 where one is.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from tabulate import tabulate

HEAD = (
    "subject", "schedule", "verdict", "strikes", "rows", "doubled", "missing", "requests", "at most", "most at a time",
    "leases that lapsed", "unexplained", "incarnations",
)  # fmt: skip
WORKERS = 4


@dataclass(frozen=True)
class Claims:
    """What one trial says; `at_most` bounds `requests`, `unexplained` are lapses that no strike explains."""

    subject: str
    schedule: str
    verdict: str
    strikes: int
    rows: int
    doubled: int
    missing: int
    requests: int
    at_most: int
    concurrent: int
    lapsed: int
    unexplained: int
    incarnations: int

    @property
    def are_kept(self) -> bool:
        """Whether every promise was."""
        is_whole = self.verdict == "PASS" and not self.doubled and not self.missing and not self.unexplained
        return is_whole and self.requests <= self.at_most and (self.concurrent <= 1 or self.lapsed > 0)


def claims(line: dict[str, Any]) -> Claims:
    """The claims of one line of the ledger."""
    data, traffic = line["data"], line["traffic"]
    lapsed = traffic["lapsed"]
    struck = [fault for fault in line["faults"] if fault["status"] != "not_reached"]
    unexplained = sum(not is_explained(one, struck, line["incarnations"]) for one in lapsed["leases"])
    return Claims(
        subject=f"{line['subject']}:{line['variant']}",
        schedule=line["schedule"]["name"],
        verdict=line["outcome"],
        strikes=len(struck),
        rows=data["rows"],
        doubled=data["extra_rows"],
        missing=data["lost"]["count"] + data["missed"]["count"],
        requests=traffic["requests"],
        at_most=traffic["minimum"] + sum(map(in_hand, struck)),
        concurrent=traffic["max_concurrent"],
        lapsed=lapsed["count"],
        unexplained=unexplained,
        incarnations=sum(not one["again"] for one in line["incarnations"]),
    )


def is_explained(lapse: dict[str, Any], struck: list[dict[str, Any]], incarnations: list[dict[str, Any]]) -> bool:
    """Whether a signal found the page in flight, or a strike came between its answer and the request that took it over.

    A server that was away for longer than the lease is such a strike: the page had been fetched and could not be
    stored.
    """
    if lapse["fault"] is not None or lapse["first"] != "answered":
        return lapse["fault"] is not None
    started_s = {one["number"]: one["started_s"] for one in incarnations}
    struck_s = [started_s[one["incarnation"]] + one["struck_s"] for one in struck if is_blow(one)]
    return any(lapse["began_s"] <= moment_s <= lapse["began_s"] + lapse["after_s"] for moment_s in struck_s)


def is_blow(fault: dict[str, Any]) -> bool:
    """Whether it is a signal to the subject or the death of its server."""
    return fault["scope"] is not None or "service" in fault["planned"]


def in_hand(fault: dict[str, Any]) -> int:
    """The most pages that a strike may have fetched again."""
    match fault["scope"]:
        case "owner":
            return 1
        case "pid" | "group" | "tree":
            return WORKERS
        case _:
            return len(fault["in_flight"]) if "service" in fault["planned"] else 0


def report(found: Sequence[Claims]) -> tuple[str, int]:
    """A row per trial and what was kept, as text; and the exit code."""
    rows = [
        (one.subject, one.schedule, one.verdict, one.strikes, one.rows, one.doubled, one.missing, one.requests,
         one.at_most, one.concurrent, one.lapsed, one.unexplained, one.incarnations)
        for one in found
    ]  # fmt: skip
    broken = [f"{one.subject} {one.schedule}" for one in found if not one.are_kept]
    told = f", but not {', '.join(broken)}" if broken else ""
    kept = f"{len(found) - len(broken)} of {len(found)} trials kept every promise{told}"
    return f"{tabulate(rows, HEAD, tablefmt='github')}\n\n{kept}\n", int(bool(broken) or not found)


def read(ledger: Path) -> Iterable[dict[str, Any]]:
    """The lines of the trials with faults; those of the controls are left out."""
    lines = map(msgspec.json.decode, ledger.read_bytes().splitlines())
    return [line for line in lines if not line["control"]]


def main() -> int:
    """Print what the campaign says, and keep it beside the campaign as claims.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/workers"))
    folder = parser.parse_args().folder
    ledger = folder / "trials.jsonl"
    if not ledger.is_file():
        print(f"{ledger}: no such file; `make workers` writes it", file=sys.stderr)
        return 2
    text, code = report([claims(line) for line in read(ledger) if line["data"] is not None])
    print(text, end="")
    (folder / "claims.md").write_text(text, "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
