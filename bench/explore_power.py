"""What power cuts do to our crawlers, and how long that takes to find out: `killtest explore --power`, 3 lists x 10.

    python bench/explore_power.py            (idempotent: bound 60 s of wall time on two cores that do nothing else)
    python bench/explore_power.py --all      (the table of docs/power.md, some minutes; or name the crawlers)

Cells: failing points of all; requests made again, median / most; rows that lie there behind exit 0, of 30.
Model states, not observed ones. Ends with 1 when the bound does not hold, or the sound crawler fails or forgets.
"""

import argparse
import resource
import sys
import tempfile
from pathlib import Path
from time import monotonic

from explore_agreement import Silent
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.explore.explore_run import Order
from killtest.plan import subject
from killtest.plan.each_request import SMALL
from killtest.power import power_run
from killtest.power.power_model import KILL, MODELS
from killtest.power.power_run import PowerExploration

SOUND = "idempotent"
OTHERS = (
    "idempotent:synchronous_normal",
    "idempotent:synchronous_off",
    "naive",
    "append_jsonl",
    "scrapy_jobdir:one_request",
)
BOUND_S = 60.0


def main() -> int:
    """Measure, print, and say whether it holds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="the other crawlers too, as a table")
    parser.add_argument("names", nargs="*", help="these crawlers too")
    said = parser.parse_args()
    names = OTHERS if said.all else said.names
    with tempfile.TemporaryDirectory() as place:
        sound, wall_s, cpu_s = explored(SOUND, Path(place))
        print(
            f"{SOUND}: {len(sound.cuts)} points, {sound.states} states, {sound.groups} recovered in {wall_s:.1f} s "
            f"(bound {BOUND_S:g} s), {cpu_s:.1f} s of CPU time"
        )
        print("\n".join(head()), row(SOUND, sound), sep="\n", flush=True)
        for name in names:
            print(row(name, explored(name, Path(place))[0]), flush=True)
    forgets = max(one.again_most for one in sound.tallies) > 1
    return int(wall_s > BOUND_S or forgets or sound.outcome != "PASS")


def explored(name: str, root: Path) -> tuple[PowerExploration, float, float]:
    """The exploration, its wall time and its CPU time in seconds, that of all processes it started among it."""
    began_s, cpu_s = monotonic(), _cpu_s()
    folder = CampaignFolder(root / name.replace(":", "-"))
    result = power_run.run(Order(subject.find(name), SMALL, sys.argv), folder, Silent())
    folder.close()
    return result, monotonic() - began_s, _cpu_s() - cpu_s


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def head() -> list[str]:
    """The table's head."""
    names = ["crawler", *MODELS, "again: a kill", "again: ext4", "exit: ext4", "exit: posix", "exit: names"]
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def row(name: str, result: PowerExploration) -> str:
    """A crawler's line."""
    tallies = {one.model: one for one in result.tallies}
    failing = [f"{tallies[model].failing}/{tallies[model].points}" if model in tallies else "-" for model in MODELS]
    again = [f"{tallies[model].again_median:g} / {tallies[model].again_most:g}" for model in (KILL, "ext4")]
    rows = {one.model: "-" if one.rows is None else str(one.rows) for one in result.exits}
    exits = [rows.get(model, "") for model in ("ext4", "posix", "names")]
    return f"| {' | '.join([name, *failing, *again, *exits])} |"


if __name__ == "__main__":
    sys.exit(main())
