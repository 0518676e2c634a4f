"""How fast exploring is: the whole of it, against true kills at the same boundaries, and what recording costs.

Three figures for the idempotent crawler on 3 list pages x 10 products, two crawls side by side:
- `killtest explore`, all SIGKILL boundaries, in seconds (bound: 30);
- the same boundaries killed and rerun, every 12th of them in fact, times 12, against that (bound: at least 5 times);
- a recorded crawl against one that is not, pairs in turn, the median ratio of their wall times (bound: 1.3).
"""

import random
import sys
import tempfile
from pathlib import Path
from time import monotonic

from explore_agreement import Silent
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.conduct import trial
from killtest.explore import explore_run, recording
from killtest.explore.explore_run import Order, kill_at
from killtest.halt import Halt
from killtest.judge.course import Course
from killtest.plan import subject
from killtest.plan.campaign import Planned, site_of
from killtest.plan.each_request import SMALL
from killtest.plan.schedule import Schedule
from killtest.report.statistics import paired_ratio

# Its lease is half a second: a true restart waits for it, a derived one has its clock set ahead.
WHO = "idempotent:short_lease"
SAMPLE = 12
PAIRS = 15
TOTAL_S, TIMES, RECORDING = 30.0, 5.0, 1.3


def main() -> int:
    """Measure, print, and say whether the bounds hold."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        explored_s, killed_s, points = explored_and_killed(root)
        ratio = recording_cost(root)
    times = killed_s / explored_s
    print(f"{WHO}: {points} crash points explored in {explored_s:.1f} s (bound {TOTAL_S:g} s)")
    print(f"killed and rerun at every {SAMPLE}th of them, times {SAMPLE}: {killed_s:.0f} s, {times:.1f} times as long")
    print(f"a recorded crawl / a bare one: {ratio[0]:.3f} [{ratio[1]:.3f}, {ratio[2]:.3f}] (bound {RECORDING:g})")
    return int(explored_s > TOTAL_S or times < TIMES or ratio[1] > RECORDING)


def explored_and_killed(root: Path) -> tuple[float, float, int]:
    """Seconds of the exploration, of true kills at all its points (estimated), and how many points there are."""
    order = Order(subject.find(WHO), SMALL, sys.argv)
    began_s = monotonic()
    folder = CampaignFolder(root / "explored")
    result = explore_run.run(order, folder, Silent())
    folder.close()
    explored_s = monotonic() - began_s
    points = [one.point for one in result.judged if one.point.trigger is not None]
    began_s = monotonic()
    folder = CampaignFolder(root / "killed")
    kill_at(points[::SAMPLE], order, folder, Silent())
    folder.close()
    return explored_s, (monotonic() - began_s) * len(points) / len(points[::SAMPLE]), len(points)


def recording_cost(root: Path) -> tuple[float, float, float]:
    """Wall time of a recorded crawl over that of a bare one: median and 95 % interval over the pairs."""
    who = subject.find(WHO)
    site = site_of(who.site, SMALL, WHO)
    recorded, bare = [], []
    for number in range(PAIRS):
        pair = [
            lambda n=number: recorded.append(_span(recording.record(who, site, root / f"record-{n}", Halt()).course)),
            lambda n=number: bare.append(_span(_bare(root / f"bare-{n}"))),
        ]
        for run in pair if number % 2 else reversed(pair):
            run()
    found = paired_ratio(bare, recorded, random.Random(1))
    return found.value, found.low, found.high


def _bare(place: Path) -> Course:
    who = subject.find(WHO)
    planned = Planned(who, Schedule("bare"), is_control=True)
    return trial.run(planned, site_of(who.site, SMALL, WHO), place).course


def _span(course: Course) -> float:
    return course.incarnations[0].ended_s - course.incarnations[0].started_s


if __name__ == "__main__":
    sys.exit(main())
