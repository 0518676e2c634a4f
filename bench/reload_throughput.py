"""How fast crawlers/reload_queue crawls, next to scrapy-redis: the same site, the same server, the same records.

    python bench/reload_throughput.py [--quick] [--rounds N] [--latency-ms 1000 50] [--json FILE]

24 pages at a time: two instances of 12 workers each, or one Scrapy process with 24 concurrent requests. The site
takes 1000 ms for a page (so 24 URLs a second are the limit), or 50 ms (480: there the crawler itself is the limit).
Every record needs two pages. The subjects take turns; each run has a fresh server (AOF, fsync every second), site,
and database. Times are those of the site's log: from the first request to the last answer, and, steady, between the
answers at 10 % and at 90 %. CPU seconds are those of all processes of a subject, from their start to their end,
without the server. The middle run of the rounds is shown, by steady speed. Linux only.
Fails when a subject ends badly, asks for another number of pages, or stores another number of records than there are.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from killtest import machine
from reaper import adopt_orphans, reaped
from reload_subjects import INSTANCES, SUBJECTS, WORKERS, Place, running_server, running_site, server_program

AT_ONCE = INSTANCES * WORKERS
PRODUCTS_PER_LIST = 50
EDGE = 0.1  # of the answers, at the beginning and at the end, that are not steady
DEADLINE_S = 600.0
SLOW_MS = 500.0
PACKAGES = ("django", "redis", "urllib3", "scrapy", "scrapy-redis", "twisted")
PUBLISHED = (
    "figures published (12 cores, 1 Gb/s, 8 GB; two pages a record, 1.023 s a page and process): 23.451 URLs/s,"
    " next to 16.666 URLs/s of the crawler compared with (+40.7 %)"
)


@dataclass(frozen=True)
class Setting:
    """The site's latency in milliseconds, how many products it has, and how often each subject crawls it."""

    latency_ms: float
    products: int
    rounds: int

    @property
    def lists(self) -> int:
        """List pages."""
        return max(1, self.products // PRODUCTS_PER_LIST)

    @property
    def pages(self) -> int:
        """Pages of a perfect crawl."""
        return self.lists + 2 * self.products

    @property
    def limit_per_s(self) -> float:
        """URLs a second of a crawler that costs nothing."""
        return AT_ONCE * 1000 / self.latency_ms


@dataclass(frozen=True)
class Course:
    """When a run began (CLOCK_MONOTONIC), the CPU seconds of all its processes, of the server and of the site."""

    began_s: float
    cpu_s: float
    server_cpu_s: float
    site_cpu_s: float


@dataclass(frozen=True)
class Run:
    """The figures of one run. `start_s`: from the start of the processes to the first request."""

    pages: int
    seconds: float
    per_s: float
    of_limit: float
    steady_per_s: float
    steady_of_limit: float
    cpu_s: float
    pages_per_cpu_s: float
    records: int
    start_s: float
    server_cpu_s: float
    site_cpu_s: float


# Heading of the table, its value for a run.
COLUMNS: tuple[tuple[str, Callable[[Run], str]], ...] = (
    ("pages", lambda run: f"{run.pages:,}"),
    ("seconds", lambda run: f"{run.seconds:.1f}"),
    ("URLs/s", lambda run: f"{run.per_s:.2f}"),
    ("of the limit", lambda run: f"{run.of_limit:.1%}"),
    ("steady URLs/s", lambda run: f"{run.steady_per_s:.2f}"),
    ("of the limit", lambda run: f"{run.steady_of_limit:.1%}"),
    ("CPU s", lambda run: f"{run.cpu_s:.1f}"),
    ("pages per CPU s", lambda run: f"{run.pages_per_cpu_s:.0f}"),
    ("records", lambda run: f"{run.records:,}"),
    ("start, s", lambda run: f"{run.start_s:.1f}"),
    ("server's CPU s", lambda run: f"{run.server_cpu_s:.1f}"),
    ("site's CPU s", lambda run: f"{run.site_cpu_s:.1f}"),
)


def main() -> int:
    """Measure, print a table per setting, write the file."""
    options = asked()
    adopt_orphans()
    began_s = time.monotonic()
    facts = circumstances()
    print(", ".join(f"{name} {number}" for name, number in facts["versions"].items()), f"· {facts['cores']} cores")
    found = []
    for setting in settings(options):
        runs = compared(options.subjects, setting)
        print(f"\n{setting.latency_ms:g} ms a page, {AT_ONCE} at a time: at most {setting.limit_per_s:g} URLs/s")
        print(table({name: middle(several) for name, several in runs.items()}), flush=True)
        as_json = {name: [asdict(run) for run in several] for name, several in runs.items()}
        found.append({**asdict(setting), "limit_per_s": setting.limit_per_s, "runs": as_json})
    took_s, load1 = round(time.monotonic() - began_s, 1), round(os.getloadavg()[0], 1)
    print(f"\n{PUBLISHED}")
    print(f"{took_s:.0f} s, fsync of 4 KiB {facts['fsync_ms']} ms in {facts['folder']}, load1 {load1}")
    if options.json is not None:
        facts |= {"quick": options.quick, "took_s": took_s, "load1": load1, "settings": found}
        options.json.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    return 0


def asked() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=["reload_queue", "scrapy_redis"])
    parser.add_argument("--latency-ms", nargs="+", type=float, default=[1000.0, 50.0])
    parser.add_argument("--rounds", type=int, help=f"runs of each subject (1 with {SLOW_MS:g} ms and more, else 3)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the pages, one round: to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    if min(options.latency_ms) <= 0 or (options.rounds is not None and options.rounds < 1):
        parser.error("--latency-ms is above 0, --rounds at least 1")
    return options


def settings(options: argparse.Namespace) -> Iterator[Setting]:
    """Slow pages for a minute between 10 % and 90 %; of fast ones enough to tell a crawler's speed from its start."""
    for latency_ms in options.latency_ms:
        slow = latency_ms >= SLOW_MS
        products = (900 if slow else 3000) // (10 if options.quick else 1)
        yield Setting(latency_ms, products, options.rounds or (1 if slow or options.quick else 3))


def circumstances() -> dict[str, Any]:
    """Versions, and the machine."""
    said = subprocess.run([server_program(), "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    server = {said[0].lower(): next(word[2:] for word in said if word.startswith("v="))}
    packages = {name: version(name) for name in PACKAGES}
    folder = Path(tempfile.gettempdir())
    return {
        "versions": {"python": platform.python_version(), **packages, **server},
        "cores": os.cpu_count(),
        "folder": str(folder),
        "fsync_ms": machine.weather(folder).fsync_ms,
    }


def compared(subjects: list[str], setting: Setting) -> dict[str, list[Run]]:
    """The runs of each subject, beginning with another one in each round."""
    runs: dict[str, list[Run]] = {name: [] for name in subjects}
    for number in range(setting.rounds):
        turn = number % len(subjects)
        for name in subjects[turn:] + subjects[:turn]:
            runs[name].append(measured(name, setting))
    return runs


def middle(runs: list[Run]) -> Run:
    """The run in the middle by steady speed; of two the slower one."""
    return sorted(runs, key=lambda run: run.steady_per_s)[(len(runs) - 1) // 2]


def measured(name: str, setting: Setting) -> Run:
    """One run of a subject."""
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as place:
        folder = Path(place)
        course = crawled(name, setting, folder)
        # The site has ended, so its log is complete.
        lines = [json.loads(line) for line in (folder / "site.jsonl").read_bytes().splitlines()]
        with closing(sqlite3.connect(folder / "crawl.db")) as database:
            ((records,),) = database.execute("SELECT count(*) FROM record")
    pages = [line for line in lines if line["kind"] == "page"]
    expect(name, "pages asked for", len(pages), setting.pages)
    expect(name, "records", records, setting.products)
    return figures(pages, setting, course, records)


def crawled(name: str, setting: Setting, folder: Path) -> Course:
    """Run a subject to its end."""
    with (
        running_server(folder) as (redis_url, server),
        running_site(folder, setting.products, setting.lists, setting.latency_ms) as (site_url, site),
    ):
        here = Place(folder, site_url, redis_url)
        began_s, processes = SUBJECTS[name](here)
        codes, cpu_s = reaped(processes, {server, site}, DEADLINE_S)
        if any(codes):
            sys.exit(f"{name}: ended with {codes}\n{here.said()}")
        return Course(began_s, cpu_s, used_s(server), used_s(site))


def used_s(pid: int) -> float:
    """The CPU seconds of a living process."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def expect(name: str, what: str, found: int, wanted: int) -> None:
    """End the bench when a subject did not do the work: its speed would mean nothing."""
    if found != wanted:
        sys.exit(f"{name}: {what}: {found:,} instead of {wanted:,}; no figures are shown")


def figures(pages: list[dict[str, Any]], setting: Setting, course: Course, records: int) -> Run:
    """The figures of a run from the site's log."""
    first_s = min(page["arrived_s"] for page in pages)
    answers_s = sorted(page["ended_s"] for page in pages)
    seconds = answers_s[-1] - first_s
    edge = int(len(answers_s) * EDGE)
    steady_s = answers_s[edge:-edge]
    per_s, steady_per_s = len(pages) / seconds, (len(steady_s) - 1) / (steady_s[-1] - steady_s[0])
    return Run(
        pages=len(pages),
        seconds=seconds,
        per_s=per_s,
        of_limit=per_s / setting.limit_per_s,
        steady_per_s=steady_per_s,
        steady_of_limit=steady_per_s / setting.limit_per_s,
        cpu_s=course.cpu_s,
        pages_per_cpu_s=len(pages) / course.cpu_s,
        records=records,
        start_s=first_s - course.began_s,
        server_cpu_s=course.server_cpu_s,
        site_cpu_s=course.site_cpu_s,
    )


def table(runs: dict[str, Run]) -> str:
    """A row per subject."""
    rows = [["", *(heading for heading, _ in COLUMNS)]]
    rows += [[name, *(show(run) for _, show in COLUMNS)] for name, run in runs.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(line(row, widths) for row in rows)


def line(row: list[str], widths: list[int]) -> str:
    """A line of the table: the name to the left, figures to the right."""
    name, *cells = row
    return "  ".join(
        [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
    )


if __name__ == "__main__":
    raise SystemExit(main())
