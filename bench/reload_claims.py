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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from append_only_file import remaining
from killtest.plan import subject
from killtest.plan.fault import parse
from tabulate import tabulate

HEAD = (
    "subject", "schedule", "verdict", "strikes", "reloads", "rows of each job", "NR at the end", "lowest NR",
    "NR came to 0", "repeated", "at most",
)  # fmt: skip
_CUT = re.compile(r"old workers ended \((\d+) finished, (\d+) cut\)")
_NEW = re.compile(r"generation \d+ runs|Watching for file changes|reloading\.")


def main() -> int:
    """Print the table, write it beside the campaign's results; 1 when a promise of the subject was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/reload"))
    options = parser.parse_args()
    lines = [msgspec.json.decode(line) for line in (options.folder / "trials.jsonl").read_bytes().splitlines()]
    rows = [row_of(options.folder, line) for line in lines]
    table = tabulate(rows, HEAD, tablefmt="github")
    (options.folder / "claims.md").write_text(f"# The claims, trial by trial\n\n{table}\n")
    print(table)
    return 0


def row_of(folder: Path, line: dict[str, Any]) -> list[Any]:
    """What one trial says of the claims."""
    trial = folder / "trials" / line["id"]
    site = [msgspec.json.decode(one) for one in (trial / "site.jsonl").read_bytes().splitlines()]
    jobs = remaining(trial / "services/valkey")
    label = line["subject"] + (f":{line['variant']}" if line["variant"] else "")
    workers = int(subject.find(label).command[-1])
    reloads, cut = of_logs(trial)
    struck = [fault for fault in line["faults"] if fault["status"] != "not_reached"]
    at_most = sum(ended(fault["planned"], workers) for fault in struck)
    return [
        label,
        line["schedule"]["name"],
        line["outcome"],
        f"{len(struck)} of {len(line['faults'])}",
        reloads,
        rows_of_jobs(trial),
        spread(job.now for job in jobs.values()),
        min(job.lowest for job in jobs.values()),
        spread(job.ends for job in jobs.values()),
        repeated(site, len(jobs)),
        at_most + (workers * reloads if "published" in label else cut),
    ]


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
        generations += max(0, len(_NEW.findall(text)) - 1)
        cut += sum(int(found[1]) for found in _CUT.findall(text))
    return generations, cut


def rows_of_jobs(trial: Path) -> str:
    """How many rows each job stored in the end, and whether they are the same."""
    held: dict[Any, set[bytes]] = {}
    rows = [msgspec.json.decode(line) for line in (trial / "snapshot.jsonl").read_bytes().splitlines()]
    last = max(row["in"] for row in rows if "in" in row)
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
