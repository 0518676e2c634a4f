"""What a report of 10,000 trials weighs, and how long it takes to open in a real Chromium.

The trials are none that ran: they are the lines of a real ledger over and over, each time under other names, so that
they are as long and as different as real ones. What is measured is from the start of the navigation until the index has
drawn its comparison and its list and takes input, and until a filter has been followed; the median of three.

    python bench/report_size.py [--trials 10000] [--ledger results/reference/comparison/trials.jsonl]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from killtest.campaigns import ledger
from killtest.report.pages.campaign_pages import write_pages
from playwright.sync_api import Browser, sync_playwright

MOST_BYTES, MOST_S = 10_000_000, 3.0
RUNS = 3
PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")


def repeated(lines: list[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    """`count` lines made of these in turn; the numbers of schedules go on, so that no trial is there twice."""
    for place in range(count):
        line, turn = lines[place % len(lines)], place // len(lines)
        name = f"{line['schedule']['group']}-{100 * turn + place % len(lines) + 1}"
        schedule = line["schedule"] | {"name": name}
        yield line | {"id": f"{line['subject']}--{name}", "schedule": schedule, "evidence": None}


def opening_s(browser: Browser, path: Path) -> tuple[float, float, float]:
    """Seconds until the page is there and takes input, how many of them it computed, and to follow a filter then."""
    page = browser.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    # Interactive: the page's own mark, then a turn of the event loop and a frame, so that what is queued is done.
    frame = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))"
    opened_s = page.evaluate(frame) / 1000
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    change = """async () => {
        const began = performance.now(), select = document.getElementById('filter-outcome');
        select.value = 'FAIL';
        select.dispatchEvent(new Event('change'));
        await new Promise((done) => addEventListener('hashchange', done, { once: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        return performance.now() - began;
    }"""
    filtered_s = page.evaluate(change) / 1000
    page.close()
    return opened_s, metrics["TaskDuration"], filtered_s


def main() -> int:
    """Measure, print, and end with 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--ledger", type=Path, default=Path("results/reference/comparison/trials.jsonl"))
    asked = parser.parse_args()
    if PROGRAM is None:
        print("report_size: no Chromium on this machine, nothing was measured: apt install chromium")
        return 0
    lines = [line for line in ledger.read(asked.ledger) if not line["control"]]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        began_s = time.perf_counter()
        path = write_pages(Path(folder), list(repeated(lines, asked.trials)))
        made_s, size = time.perf_counter() - began_s, path.stat().st_size
        browser = driver.chromium.launch(
            executable_path=PROGRAM, args=["--no-sandbox", "--disable-background-networking"]
        )
        seconds = [opening_s(browser, path) for _ in range(RUNS)]
        browser.close()
    opened_s, computed_s, filtered_s = (median(column) for column in zip(*seconds, strict=True))
    print(f"{asked.trials:,} trials (the {len(lines)} of {asked.ledger} over and over, none of them ran)")
    print(f"index.html: {size / 1e6:.1f} MB (bound {MOST_BYTES / 1e6:.0f} MB), written in {made_s:.1f} s")
    print(
        f"opens in {opened_s:.2f} s (bound {MOST_S:g} s), {computed_s:.2f} s of it computing, follows a filter in "
        f"{filtered_s:.2f} s; medians of {RUNS}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )
    told = {"opened_s": opened_s, "computed_s": computed_s, "filtered_s": filtered_s, "load1": os.getloadavg()[0]}
    print(json.dumps({"trials": asked.trials, "bytes": size} | told))
    return int(size > MOST_BYTES or opened_s > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
