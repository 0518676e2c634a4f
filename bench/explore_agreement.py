"""Do derived crash points tell the truth? Every one of them again, by a true kill at that step and a plain restart.

For each subject: explore it, then kill it at every durable step, and compare ending, findings and page requests. Ends
with 1 when a point differs. Takes minutes: for the nightly run.

    python bench/explore_agreement.py            (three subjects, a shop of 2 lists x 4 products)
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.campaigns.campaign_run import Watcher
from killtest.campaigns.story import Story
from killtest.explore import explore_run
from killtest.explore.exploration import Judged
from killtest.explore.explore_run import Order, agrees, kill_at, name_of
from killtest.plan import subject

SUBJECTS = ("idempotent:short_lease", "append_jsonl", "scrapy_jobdir:one_request")


class Silent:
    """Tells nothing."""

    @contextmanager
    def stage(self, words: str, total: int) -> Iterator[Callable[[], None]]:
        """A part begins."""
        yield lambda: None

    @contextmanager
    def campaign(self) -> Iterator[Watcher]:
        """Nobody watches."""
        yield Story(quiet=True)


def main() -> int:
    """Compare, and print a line for each subject and each difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", default=SUBJECTS)
    parser.add_argument("--lists", type=int, default=2)
    parser.add_argument("--products", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    site = {"list_pages": options.lists, "products": options.products}
    differing = [compare(name, site, options.jobs) for name in options.subjects]
    return int(any(differing))


def compare(name: str, site: dict[str, int], jobs: int) -> int:
    """Explore one subject and kill it at every point; how many differ."""
    order = Order(subject.find(name), site, sys.argv, jobs=jobs, confirm=0)
    with tempfile.TemporaryDirectory() as place:
        folder = CampaignFolder(Path(place) / "derived")
        result = explore_run.run(order, folder, Silent())
        folder.close()
        truth = CampaignFolder(Path(place) / "true")
        tried = [one for one in result.judged if one.point.trigger is not None]
        lines = {
            line["schedule"]["name"]: line for line in kill_at([one.point for one in tried], order, truth, Silent())
        }
        truth.close()
    different = [one for one in tried if not same(one, lines[name_of(one.point)])]
    failing = sum(one.outcome == "FAIL" for one in tried)
    print(
        f"{name}: {len(tried)} crash points, {result.states} states, {result.groups} recovered; {failing} fail; "
        f"a true kill came out otherwise at {len(different)}",
        flush=True,
    )
    for one in different:
        line = lines[name_of(one.point)]
        print(f"  step {one.point.k} {one.point.what}: derived {told(one)}; killed: {of_line(line)}", flush=True)
    return len(different)


def same(one: Judged, line: dict) -> bool:  # type: ignore[type-arg]
    """Whether ending, findings and page requests are equal."""
    return agrees(one, line) and one.requests == line["traffic"]["requests"]


def told(one: Judged) -> str:
    """The derived verdict in words."""
    return f"{one.outcome} {one.ending} {dict(one.findings)} {one.requests} requests"


def of_line(line: dict) -> str:  # type: ignore[type-arg]
    """The verdict of a true kill in words."""
    if line["data"] is None:
        return f"{line['outcome']} {line['problem']}"
    counts = {name: line["data"][name]["count"] for name in ("lost", "missed", "duplicated", "corrupted")}
    found = {name: count for name, count in counts.items() if count}
    return f"{line['outcome']} {line['ending']} {found} {line['traffic']['requests']} requests"


if __name__ == "__main__":
    sys.exit(main())
