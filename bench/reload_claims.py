"""What the published design of a reloadable crawler claims, against what the campaign `reload` measured.

Reads results/reload (`make reload` writes it) and prints a row per trial: reloads that were carried out, whether the
jobs stored the same, NR over every step of its life (from the server's own file, not from looking now and then), and
requests that were repeated. Those may be as many as there were tasks in hand of workers that a strike ended: the pages
cut at a reload, as the instance logs them (the published design cuts all), one for a killed worker, all of the
instance's where its main process was killed or paused.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from append_only_file import Remaining, remaining
from killtest.plan import subject
from killtest.plan.fault import parse
from tabulate import tabulate

HEAD = (
    "subject", "schedule", "verdict", "findings", "strikes", "reloads", "rows of each job", "NR at the end",
    "lowest NR", "NR came to 0", "repeated", "at most", "rows of old code", "asked for, at the latest (s)",
)  # fmt: skip
_CUT = re.compile(r"old workers ended \((\d+) finished, (\d+) cut\)")
_NEW = re.compile(r"generation \d+ runs")
_DJANGO = re.compile(r"changed, reloading\.")
# How long old code may ask for pages behind a change before this calls it unnoticed; `make bench` has the seconds.
OLD_CODE_S = 10.0
FINDINGS = ("lost", "missed", "duplicated", "corrupted", "unexpected", "vanished")


@dataclass(frozen=True)
class Claims:
    """What one trial says of the claims; `at_most` bounds `repeated`, `nr` are the jobs over their lives.

    `old_rows` were made by code that had been changed, the last of them asked for `old_s` seconds after the change.
    """

    subject: str
    schedule: str
    verdict: str
    findings: str
    strikes: str
    reloads: int
    rows: str
    nr: tuple[Remaining, ...]
    repeated: int
    at_most: int
    old_rows: int
    old_s: float

    @property
    def lowest(self) -> int:
        """The lowest NR of any job at any moment."""
        return min(job.lowest for job in self.nr)

    @property
    def broken(self) -> list[str]:
        """In words, the claims that do not hold: all rows once, equal jobs, NR 0 once and at the end, few repeats."""
        ends = {job.now for job in self.nr}
        found = [self.findings or self.verdict] if self.verdict != "PASS" else []
        found += [f"rows {self.rows}"] if not self.rows.endswith("the same") and not found else []
        found += [f"NR down to {self.lowest}"] if self.lowest < 0 else []
        found += [f"NR {max(ends)} at the end"] if max(ends) > 0 else []
        found += ["NR was 0 before the end"] if any(job.ends > 1 for job in self.nr) else []
        found += [f"{self.repeated} repeated of at most {self.at_most}"] if self.repeated > self.at_most else []
        found += [f"old code ran for {self.old_s:.0f} s"] if self.old_s > OLD_CODE_S else []
        return found

    def row(self) -> tuple[Any, ...]:
        """For the table of all trials."""
        ends, now = spread(job.ends for job in self.nr), spread(job.now for job in self.nr)
        facts = (self.subject, self.schedule, self.verdict, self.findings, self.strikes, self.reloads, self.rows)
        old = (self.old_rows, f"{self.old_s:.1f}") if self.old_rows else ("", "")
        return (*facts, now, self.lowest, ends, self.repeated, self.at_most, *old)

    def cell(self) -> str:
        """For the table of schedules: whether the claims hold, and what repeated requests that took."""
        is_as_claimed = not self.broken
        verdict = "holds" if is_as_claimed else "broken: " + ", ".join(self.broken)
        bound = f" of at most {self.at_most}" if is_as_claimed else ""
        return f"{verdict}; {self.repeated}{bound} repeated"


def main() -> int:
    """Print the tables, write them beside the campaign's results; 1 when a claim does not hold for reload_queue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/reload"))
    options = parser.parse_args()
    lines = [msgspec.json.decode(line) for line in (options.folder / "trials.jsonl").read_bytes().splitlines()]
    found = [claims_of(options.folder, line) for line in lines]
    every = tabulate([one.row() for one in found], HEAD, tablefmt="github")
    by_schedule = matrix(found)
    text = f"# The claims\n\n{by_schedule}\n\n## Trial by trial\n\n{every}\n"
    (options.folder / "claims.md").write_text(text)
    print(f"{every}\n\n{by_schedule}\n")
    broken = [one for one in found if "published" not in one.subject and one.broken]
    for one in broken:
        print(f"a claim does not hold: {one.subject}, {one.schedule}: {', '.join(one.broken)}")
    return min(1, len(broken))


def matrix(found: Sequence[Claims]) -> str:
    """A row per schedule: our crawler, and the published design rebuilt."""
    rows: dict[str, list[str]] = {}
    for one in found:
        if not one.schedule.startswith("control"):
            is_slow = one.subject.endswith("slow") and not one.schedule.startswith("slow-")
            cells = rows.setdefault(f"slow-{one.schedule}" if is_slow else one.schedule, ["–", "–"])
            cells["published" in one.subject] = one.cell()
    return tabulate(
        [[name, *cells] for name, cells in rows.items()],
        ("schedule", "reload_queue", "the published design, rebuilt"),
        tablefmt="github",
    )


def claims_of(folder: Path, line: dict[str, Any]) -> Claims:
    """What one trial says of the claims."""
    trial = folder / "trials" / line["id"]
    site = [msgspec.json.decode(one) for one in (trial / "site.jsonl").read_bytes().splitlines()]
    jobs = tuple(remaining(trial / "services/valkey").values())
    label = line["subject"] + (f":{line['variant']}" if line["variant"] else "")
    workers = int(subject.find(label).command[-1])
    reloads, cut = of_logs(trial)
    struck = [fault for fault in line["faults"] if fault["status"] != "not_reached"]
    at_most = sum(ended(fault["planned"], workers) for fault in struck)
    return Claims(
        subject=label,
        schedule=line["schedule"]["name"],
        verdict=line["outcome"],
        findings=findings_of(line),
        strikes=f"{len(struck)} of {len(line['faults'])}",
        reloads=reloads,
        rows=rows_of_jobs(trial),
        nr=jobs,
        repeated=repeated(site, len(jobs)),
        at_most=at_most + (workers * reloads if "published" in label else cut),
        old_rows=(line["data"] or {}).get("old_code", {}).get("count", 0),
        old_s=(line["data"] or {}).get("old_code_s") or 0.0,
    )


def findings_of(line: dict[str, Any]) -> str:
    """In words: how it ended, if not well, what the oracle found, and who was left."""
    ending = "" if line["ending"] == "finished" else line["ending"].replace("_", " ")
    data = line["data"] or {}
    counted = [f"{data[name]['count']} {name}" for name in FINDINGS if data and data[name]["count"]]
    left = (line["processes"] or {}).get("orphans", 0)
    return ", ".join(filter(None, [ending, *counted, f"{left} processes left" if left else ""]))


def ended(planned: str, workers: int) -> int:
    """How many tasks were in hand, at most, of the workers that a signal ended."""
    fault = parse(planned)
    if fault.on or not fault.steps:
        return 0
    is_worker = fault.scope == "owner" and fault.trigger.kind == "request"
    return 1 if is_worker else workers


def of_logs(trial: Path) -> tuple[int, int]:
    """How many generations of code followed a first one, and how many workers were cut or killed in their page."""
    generations = cut = 0
    for log in trial.glob("incarnation-*.stderr"):
        text = log.read_text("utf-8", "replace")
        generations += max(0, len(_NEW.findall(text)) - 1) + len(_DJANGO.findall(text))
        cut += sum(int(found[1]) for found in _CUT.findall(text))
    return generations, cut


def rows_of_jobs(trial: Path) -> str:
    """How many rows each job stored in the end, and whether they are the same."""
    held: dict[Any, set[bytes]] = {}
    rows = [msgspec.json.decode(line) for line in (trial / "snapshot.jsonl").read_bytes().splitlines()]
    last = next(row["in"] for row in reversed(rows) if "in" in row)
    for row in rows:
        if row.get("in") == last:
            values = {name: value for name, value in row["values"].items() if name not in ("job", "revision", "url")}
            held.setdefault(row["values"]["job"], set()).add(msgspec.json.encode(values, order="sorted"))
    counts = "/".join(str(len(found)) for _, found in sorted(held.items()))
    return counts + (", the same" if len({frozenset(found) for found in held.values()}) == 1 else ", not the same")


def spread(numbers: Iterable[int]) -> str:
    """All of them as one number when they agree."""
    found = sorted(numbers)
    return str(found[0]) if len(set(found)) == 1 else " ".join(map(str, found))


def repeated(site: list[dict[str, Any]], jobs: int) -> int:
    """Page requests beyond one for each job and page."""
    asked = Counter(line["path"] for line in site if line["kind"] == "page" and line["outcome"] != "open")
    return sum(max(0, times - jobs) for times in asked.values())


if __name__ == "__main__":
    sys.exit(main())
