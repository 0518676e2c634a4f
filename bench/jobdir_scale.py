"""What Scrapy's disk queues cost at a large number of pending requests, with the default priority queue.

    python bench/jobdir_scale.py [--requests 100000] [--within 25] [--queues QUEUE …] [--repeat 1] [--out FILE]

For each queue two real Scrapy processes run one after the other in a temporary folder. The first enqueues all requests,
or as many as it manages in time, from one callback while the engine takes none out, and stops cleanly; the second opens
what it finds, and stops at the first request that comes out. `memory` is the first of them without JOBDIR. All requests
are for one host, with nothing but a URL; no site is asked. Fails when a queue does not hold what was put into it.

Queues in SQLite wait for the disk at every request. TMPDIR says on which disk; in memory (/dev/shm) it costs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from killtest import machine

Figures = dict[str, float | None]

SPIDER = Path(__file__).with_name("jobdir_scale_spider.py")
MEMORY = "memory"
QUEUES = (MEMORY, "PickleLifoDiskQueue", "PickleFifoDiskQueue", "PickleLifoSQLiteQueue", "PickleFifoSQLiteQueue")
DEADLINE_S = 600.0
MIB = 1 << 20
# Name in the file, heading of the table, decimals.
COLUMNS = (
    ("requests", "requests", 0),
    ("queue_bytes_each", "queue, bytes each", 1),
    ("seen_bytes_each", "requests.seen, bytes each", 1),
    ("files", "files", 0),
    ("enqueue_s", "enqueue, s", 2),
    ("enqueue_cpu_s", "enqueue, s of CPU", 2),
    ("enqueued_per_s", "requests/s", 0),
    ("rss_growth_mib", "memory grows, MiB", 1),
    ("stop_s", "clean stop, s", 2),
    ("loading_s", "loading, s", 3),
    ("opened_s", "start to open, s", 2),
    ("first_request_s", "start to first request, s", 2),
    ("resumed_rss_mib", "memory when open, MiB", 1),
)


def main() -> int:
    """Measure each queue, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--within", type=float, default=25.0, help="seconds after which a queue gets no more (25)")
    parser.add_argument("--queues", nargs="+", choices=QUEUES, default=QUEUES, metavar="QUEUE")
    parser.add_argument("--repeat", type=int, default=1, help="show the median of so many runs")
    parser.add_argument("--out", type=Path, help="write all figures there as JSON")
    options = parser.parse_args()
    if options.requests < 1 or options.repeat < 1 or options.within <= 0:
        parser.error("--requests and --repeat are at least 1, --within is above 0")
    began_s = time.monotonic()
    runs: dict[str, list[Figures]] = {name: [] for name in options.queues}
    for _ in range(options.repeat):
        for name in options.queues:
            runs[name].append(measure(name, options.requests, options.within))
    medians = {name: middle(found) for name, found in runs.items()}
    took_s = time.monotonic() - began_s
    asked = {"requests": options.requests, "within_s": options.within, "repeat": options.repeat}
    facts = {**asked, "took_s": round(took_s, 1), **circumstances()}
    bounds = f"{options.requests:,} requests for one host, or as many as fit into {options.within:g} s"
    print(f"Scrapy {facts['scrapy']}, queuelib {facts['queuelib']}: {bounds}")
    print(table(medians))
    print(f"{took_s:.0f} s, fsync of 4 KiB {facts['fsync_ms']} ms in {facts['folder']}, load1 {facts['load1']}")
    if options.out is not None:
        options.out.write_text(json.dumps({**facts, "queues": medians, "runs": runs}, indent=1) + "\n", "utf-8")
    return 0


def circumstances() -> dict[str, Any]:
    """Versions, and what this machine's disk was like meanwhile."""
    folder = Path(tempfile.gettempdir())
    weather = machine.weather(folder)
    versions = {"python": platform.python_version(), "scrapy": version("scrapy"), "queuelib": version("queuelib")}
    return {
        **versions,
        "cores": os.cpu_count(),
        "folder": str(folder),
        "load1": weather.load1,
        "fsync_ms": weather.fsync_ms,
    }


def measure(queue: str, wanted: int, within_s: float) -> Figures:
    """The figures of one queue; those that only a disk has are None for memory."""
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as place:
        folder = Path(place)
        disk = [] if queue == MEMORY else ["JOBDIR=job", f"SCHEDULER_DISK_QUEUE=scrapy.squeues.{queue}"]
        filled = scrapy(folder, disk, f"requests={wanted}", f"within_s={within_s}")
        requests = filled["made"]
        expect(queue, "took", filled["enqueued"] - 1, requests)  # the start page is one more
        enqueue_s = filled["filled_s"] - filled["filling_s"]
        figures: Figures = {
            "requests": requests,
            "enqueue_s": enqueue_s,
            "enqueue_cpu_s": filled["filled_cpu_s"] - filled["before_cpu_s"],
            "enqueued_per_s": requests / enqueue_s,
            "rss_growth_mib": (filled["filled_rss_bytes"] - filled["before_rss_bytes"]) / MIB,
            "stop_s": filled["ended_s"] - filled["filled_s"],
        }
        if disk:
            figures |= sizes(folder / "job", requests)
            opened = scrapy(folder, disk)
            expect(queue, "gave back", opened["loaded"], requests)
            figures |= {
                "loading_s": opened["opened_s"] - opened["loading_s"],
                "opened_s": opened["opened_s"] - opened["began_s"],
                "first_request_s": opened["dequeued_s"] - opened["began_s"],
                "resumed_rss_mib": opened["opened_rss_bytes"] / MIB,
            }
    return {name: figures.get(name) for name, *_ in COLUMNS}


def scrapy(folder: Path, settings: list[str], *arguments: str) -> dict[str, Any]:
    """What one Scrapy process noted, with the seconds at which it began and had ended."""
    words = [sys.executable, "-m", "scrapy", "runspider", str(SPIDER)]
    words += [word for argument in arguments for word in ("-a", argument)]
    words += [word for setting in settings for word in ("-s", setting)]
    record = folder / "record.json"
    record.unlink(missing_ok=True)
    began_s = time.monotonic()
    done = subprocess.run(words, cwd=folder, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False)
    ended_s = time.monotonic()
    if done.returncode or not record.exists():
        sys.exit(f"{' '.join(words)}: ended with {done.returncode}\n{done.stderr[-2000:]}")
    noted: dict[str, Any] = json.loads(record.read_text("utf-8"))
    return noted | {"began_s": began_s, "ended_s": ended_s}


def expect(queue: str, did: str, found: int, wanted: int) -> None:
    """End the bench when a queue lost requests, or made some up: its times would mean nothing."""
    if found != wanted:
        sys.exit(f"{queue} {did} {found:,} of {wanted:,} requests: no figures of it are shown")


def sizes(job: Path, requests: int) -> Figures:
    """Bytes for each request in the queues and in requests.seen, and how many files all of it is."""
    files = [path for path in job.rglob("*") if path.is_file()]
    queues = sum(path.stat().st_size for path in files if job / "requests.queue" in path.parents)
    seen = (job / "requests.seen").stat().st_size
    return {"queue_bytes_each": queues / requests, "seen_bytes_each": seen / requests, "files": len(files)}


def middle(found: list[Figures]) -> Figures:
    """The median of each figure over the runs."""
    told = {name: [one[name] for one in found] for name, *_ in COLUMNS}
    return {name: None if None in values else round(median(values), 4) for name, values in told.items()}


def table(medians: dict[str, Figures]) -> str:
    """The figures as a Markdown table, a row for each of them and a column for each queue."""
    rows = [["", *medians], ["---", *("---:" for _ in medians)]]
    for name, heading, decimals in COLUMNS:
        values = [one[name] for one in medians.values()]
        rows.append([heading, *("–" if value is None else f"{value:,.{decimals}f}" for value in values)])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
