"""What the harness costs: a fault-free crawl under killtest against the same crawl bare, side by side.

Each pair runs the same crawler once in a trial and once started by hand against a site started by hand, the
order changing from pair to pair, latency 0. The figure is the median of the per-pair ratios of the crawl's wall
time, from the start of its process to its end. Fails when the interval lies above 1.05.
"""

import argparse
import json
import os
import random
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

from killtest.conduct import trial
from killtest.plan import subject
from killtest.plan.campaign import Planned
from killtest.plan.schedule import Schedule
from killtest.report.statistics import paired_ratio

BOUND = 1.05


def main() -> int:
    """Run the pairs, print the ratio and its interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--subject", default="naive")
    options = parser.parse_args()
    pairs = [measure_pair(options.subject, number % 2 == 0) for number in range(options.pairs)]
    found = paired_ratio([bare_s for _, bare_s in pairs], [under_s for under_s, _ in pairs], random.Random(1))
    interval = f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
    print(f"{options.subject}: crawl under the harness / bare, median of {found.n} pairs, 95 %: {interval}")
    print(f"bound {BOUND}: {'too slow' if found.low > BOUND else 'held'}")
    return int(found.low > BOUND)


def measure_pair(name: str, harness_first: bool) -> tuple[float, float]:
    """Wall seconds of one crawl under the harness and of one bare, in the given order."""
    if harness_first:
        under_s = under_harness(name)
        return under_s, bare(name)
    bare_s = bare(name)
    return under_harness(name), bare_s


def under_harness(name: str) -> float:
    """The crawl's wall seconds as incarnation 0 of a control."""
    who = subject.find(name)
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        found = trial.run(Planned(who, Schedule("bench"), True), who.site, Path(folder) / "trial")
    only = found.course.incarnations[0]
    assert only.exit == 0, f"the crawl under the harness ended with {only.exit}"
    return only.ended_s - only.started_s


def bare(name: str) -> float:
    """The crawl's wall seconds without the harness."""
    who = subject.find(name)
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        words = [sys.executable, "-m", "killtest_testsite", "--log", f"{folder}/site.jsonl"]
        site = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert site.stdout is not None
            url = json.loads(site.stdout.readline())["url"]
            return timed(subject.command_line(who.command, who.folder, {"site_url": url}), folder, url, who.env)
        finally:
            site.terminate()
            site.wait()


def timed(argv: list[str], folder: str, url: str, env: dict[str, str]) -> float:
    """Wall seconds of one process. It is waited for on a pidfd: `Popen.wait` polls in steps of up to 50 ms."""
    own = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "KILLTEST_SITE_URL": url, **env}
    with open(f"{folder}/output", "wb") as output:
        began_s = monotonic()
        process = subprocess.Popen(argv, cwd=folder, env=own, stdout=output, stderr=output, start_new_session=True)
        handle = os.pidfd_open(process.pid)
        select.select([handle], [], [], 120)
        span_s = monotonic() - began_s
    os.close(handle)
    assert process.wait(0) == 0, f"the bare crawl ended with {process.returncode}"
    return span_s


if __name__ == "__main__":
    sys.exit(main())
