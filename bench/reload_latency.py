"""How soon a change of the code is noticed, and how soon new code crawls, while 24 workers are busy.

One trial of `reload_queue`: two instances of 12 workers, pages of 1.0 s, one job; REVISION in the code of one instance
or the other goes up again and again. Noticed and running are what the instance logs (seconds of CLOCK_MONOTONIC, the
harness's clock as well); the first page of new code is the site's word: the earliest request for a page whose row says
the new revision. Rows of old code are those whose page was asked for by the old code although the change had been made.
"""

import argparse
import re
import statistics
import sys
import tempfile
from pathlib import Path

import msgspec
from killtest.conduct import trial
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.plan import subject
from killtest.plan.campaign import Planned
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.plan.schedule import Schedule
from tabulate import tabulate

WORKERS = 12
_LINE = re.compile(r"^\[(\d+\.\d+)\] n(\d)/inner: (change noticed|generation \d+ runs)", re.MULTILINE)


def main() -> int:
    """Run the trial and print the figures; 1 when the trial did not pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=12)
    parser.add_argument("--every", type=int, default=110, help="pages from one change to the next; 24 a second")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    faults = [f"request:{options.every * n} reload:change instance={n % 2}" for n in range(1, options.changes + 1)]
    with tempfile.TemporaryDirectory(prefix="reload-latency-") as folder:
        evidence = trial.run(
            Planned(busy_subject(), Schedule("changes", tuple(faults))), site(options), Path(folder) / "trial"
        )
        rows = [row_of(evidence, Path(folder) / "trial", place) for place in range(len(evidence.course.revisions))]
        judged = verdict.judge(evidence)
    medians = [statistics.median(column) for column in list(zip(*rows, strict=True))[2:]]
    head = ("instance", "revision", "noticed after (s)", "new code runs after (s)", "first page of new code after (s)")
    print(tabulate([*rows, ["", "median", *medians]], head, tablefmt="github", floatfmt=".2f"))
    data = judged.data
    assert data is not None
    print(f"\n{judged.outcome}; {len(rows)} of {len(faults)} changes made; rows of old code: {len(data.old_code)}, the")
    print(f"last asked for {data.old_code_s or 0:.2f} s after its change")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        facts = {"rows": rows, "medians": medians, "old_code": data.old_code, "old_code_s": data.old_code_s}
        options.out.write_bytes(msgspec.json.format(msgspec.json.encode(facts)))
    return int(judged.outcome != "PASS" or len(rows) < len(faults))


def busy_subject() -> Subject:
    """The reload_queue subject with 12 workers an instance and one job."""
    who = subject.find("reload_queue")
    words = ["migrate", "submit"]
    assert all(word in command for word, command in zip(words, who.setup, strict=True))
    return msgspec.structs.replace(
        who,
        command=(*who.command, "--workers", str(WORKERS)),  # the last one counts
        setup=(who.setup[0], who.setup[1][:-2]),
        store=msgspec.structs.replace(who.store, group=None, groups=1),
    )


def site(options: argparse.Namespace) -> SiteNeeds:
    """A shop of pages of 1.0 s that lasts behind the last change."""
    pages = options.every * (options.changes + 1)
    return SiteNeeds(shape="two_page", list_pages=20, products=(pages - 20) // 2, latency_ms=1000)


def row_of(evidence: Evidence, folder: Path, place: int) -> list[float]:
    """One change: its instance and revision, and the seconds until it was noticed, ran, and fetched its first page."""
    change = evidence.course.revisions[place]
    numbers = [str(one.number) for one in evidence.course.incarnations if one.instance == change.instance]
    text = "".join((folder / f"incarnation-{number}.stderr").read_text() for number in numbers)
    after = {"change": [], "generation": []}  # type: dict[str, list[float]]
    for at_s, _, what in _LINE.findall(text):
        if float(at_s) >= change.t_s:
            after[what.split()[0]].append(float(at_s) - change.t_s)
    asked = {one.path: one.arrived_s for one in evidence.requests if one.outcome == "sent"}
    numbers_of = [
        int(row.key.rpartition("-")[2])
        for row in evidence.course.snapshots[-1].rows
        if row.key and row.values["revision"] == change.revision
    ]
    incarnations = {one.path: one.incarnation for one in evidence.requests if one.outcome == "sent"}
    own = {one.number for one in evidence.course.incarnations if one.instance == change.instance}
    first_s = min(
        (
            asked[f"/view/{n}"]
            for n in numbers_of
            if incarnations[f"/view/{n}"] in own and asked[f"/view/{n}"] > change.t_s
        ),
        default=float("nan"),
    )
    return [change.instance, change.revision, min(after["change"]), min(after["generation"]), first_s - change.t_s]


if __name__ == "__main__":
    sys.exit(main())
