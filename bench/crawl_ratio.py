"""How long a crawl of one subject takes against the same crawl of another, side by side.

    python bench/crawl_ratio.py scrapy_jobdir scrapy_durable scrapy_durable:no_backlog

Each round crawls the shop (525 page requests, latency 0, no faults) once with every subject, in an order that turns
from round to round. Prints, for each subject but the first, the median of the per-round ratios of wall time, from
the start of the process to its end, with a 95 % interval. There is no bound: what is fast enough is not ours to say.
"""

import argparse
import os
import random
import tempfile
from pathlib import Path

from killtest.conduct import trial
from killtest.plan import subject
from killtest.plan.campaign import Planned
from killtest.plan.schedule import Schedule
from killtest.report.statistics import paired_ratio


def main() -> int:
    """Run the rounds, print a line per subject."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    rounds = [measured(options.subjects, number) for number in range(options.rounds)]
    first, *others = options.subjects
    for name in others:
        found = paired_ratio([one[first] for one in rounds], [one[name] for one in rounds], random.Random(1))
        print(
            f"{name} / {first}: {found.value:.2f} [{found.low:.2f}, {found.high:.2f}],"
            f" median of {found.n} rounds, 95 %, load1 {os.getloadavg()[0]:.1f}"
        )
    return 0


def measured(names: list[str], number: int) -> dict[str, float]:
    """Wall seconds of one crawl of each, beginning with another one each time."""
    turn = number % len(names)
    return {name: crawl_s(name) for name in names[turn:] + names[:turn]}


def crawl_s(name: str) -> float:
    """The wall seconds of one undisturbed crawl."""
    who = subject.find(name)
    with tempfile.TemporaryDirectory(prefix="killtest-bench-") as folder:
        found = trial.run(Planned(who, Schedule("bench"), True), who.site, Path(folder) / "trial")
    only = found.course.incarnations[0]
    assert only.exit == 0, f"{name} ended with {only.exit}"
    return only.ended_s - only.started_s


if __name__ == "__main__":
    raise SystemExit(main())
