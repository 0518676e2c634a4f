"""One undisturbed crawl of a small shop by a crawler that we know nothing about yet, and what is wrong with it."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import msgspec

from killtest import toml_file
from killtest.campaigns import trial_line
from killtest.campaigns.trial_line import Line
from killtest.conduct import trial
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.traffic import pages
from killtest.plan.campaign import Planned
from killtest.plan.manifest import SiteNeeds, StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from killtest.starter import store_guess
from killtest.store import snapshot
from killtest.store.snapshot import Snapshot

SHOP = SiteNeeds(list_pages=3, products=30)
_STDERR_LINES = 5


@dataclass(frozen=True)
class Crawl:
    """A crawl that has ended: its evidence, and the folder `place` that holds store and output."""

    planned: Planned
    place: Path
    evidence: Evidence

    @property
    def store(self) -> Path:
        """The folder that the crawler wrote into."""
        return self.place / "store"

    @property
    def keys(self) -> frozenset[str]:
        """The natural keys of the shop's products."""
        return frozenset(product.key for product in self.evidence.truth.rows)

    @property
    def files(self) -> list[str]:
        """What lies in the store folder."""
        return [row.place for row in self.evidence.course.snapshots[0].rows]

    def read(self, needs: StoreNeeds) -> Snapshot:
        """What that reader finds in the store."""
        return snapshot.take(needs, self.store, self._scratch, 0)

    def guesses(self) -> list[StoreNeeds]:
        """Ways to read the store, the best first."""
        return store_guess.guesses(self.store, self._scratch, self.keys)

    def columns(self, needs: StoreNeeds) -> str:
        """In words, what there is to choose a key from."""
        return store_guess.columns(needs, self.store, self._scratch)

    @property
    def _scratch(self) -> Path:
        return self.place / "copy"


def subject_of(command: tuple[str, ...], name: str) -> Subject:
    """The crawler as a subject whose store is not known yet; UsageError for a name that no folder can bear."""
    # Until it is known how to read the store: the names of all files in it.
    store = {"reader": "files", "path": "**/*", "key": "(.+)"}
    table = {"name": name, "command": command, "store": store, "folder": str(Path.cwd()), "limits": {"restarts": 0}}
    return toml_file.convert(table, Subject, "--name")


def crawl(who: Subject, place: Path) -> Crawl:
    """Run it once, in `place`, without a fault and without a restart. UsageError when it can't be executed."""
    planned = Planned(who, Schedule("init", group="control"), is_control=True)
    return Crawl(planned, place, trial.run(planned, SHOP, place))


def judge(done: Crawl, taken: Snapshot) -> Line:
    """The verdict on the crawl with the rows of `taken`."""
    course = msgspec.structs.replace(done.evidence.course, snapshots=(taken,))
    found = msgspec.structs.replace(done.evidence, course=course)
    return trial_line.to_line(done.planned, "init", verdict.judge(found), found)


def trouble(done: Crawl) -> str | None:
    """In plain words, why nothing can be learned from the crawl; None when it crawled and stored something."""
    course = done.evidence.course
    asked = len(list(pages(done.evidence.requests)))
    end = _end_of(done)
    if not asked:
        others = sorted({request.path for request in done.evidence.requests})
        where = f"; it asked for {', '.join(others[:3])} only, which is no page of it" if others else ""
        return (
            f"the crawler never touched the site{where}. It {end}. Does it crawl the address that it is given, as "
            f"{{site_url}} in its command or KILLTEST_SITE_URL in its environment?{_last_words(done)}"
        )
    if course.ending != "finished":
        return f"the crawler {end}, after {asked} page requests, without any fault.{_last_words(done)}"
    if not done.files:
        return (
            f"nothing stored: it made {asked} page requests and {end}, but left no file in its working directory, "
            f"which is {{store}}. Does it write to an absolute path?{_last_words(done)}"
        )
    return None


def _end_of(done: Crawl) -> str:
    course = done.evidence.course
    code = course.incarnations[0].exit
    match course.ending:
        case "hung":
            return f"hung: no request and no CPU for {done.planned.subject.limits.idle_s:g} s"
        case "out_of_time":
            return f"was still at it after {done.planned.subject.limits.total_s:g} s"
        case _ if code < 0:
            return f"was ended by signal {-code}"
        case _:
            return f"ended with code {code}"


def _last_words(done: Crawl) -> str:
    for kind in ("stderr", "stdout"):
        text = (done.place / f"incarnation-0.{kind}").read_bytes().decode("utf-8", "backslashreplace")
        lines = [line for line in text.splitlines() if line.strip()][-_STDERR_LINES:]
        if lines:
            return "\n".join([f" The end of its {kind}:", *(f"    {line[:300]}" for line in lines)])
    return " It printed nothing."


def store_trouble(done: Crawl, needs: StoreNeeds, taken: Snapshot) -> str | None:
    """In plain words, why that store does not do; None when some key of the shop is in it."""
    where = f"{needs.reader}:{needs.path}"
    there = f"There is: {', '.join(done.files[:10])}"
    choice = done.columns(needs)
    said = f" ({choice})" if choice else ""
    if taken.error is not None:
        return f"the store {where} can't be read: {taken.error}{said}"
    if not taken.exists:
        return f"the store {where} is not there, or has no such table{said}. {there}"
    if not taken.rows:
        reason = taken.damage[0] if taken.damage else "it is empty"
        return f"no row in the store {where}: {reason}"
    found = [row.key for row in taken.rows if row.key is not None]
    asked = shlex.quote(needs.key or needs.query or "")
    if not found:
        return f"the key {asked} is missing in all {len(taken.rows)} rows of {where}{said}"
    if not set(found) & done.keys:
        wanted = ", ".join(sorted(done.keys)[:3])
        return (
            f"the key {asked} gives {', '.join(found[:3])}, but the shop's keys are {wanted}, …: it must be the "
            f"article number that stands on the page{said}"
        )
    return None
