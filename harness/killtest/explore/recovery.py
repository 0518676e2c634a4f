"""What becomes of a state: the crawler is started on it, on a real stage, until it is done or given up on."""

import queue
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from killtest.conduct.conductor import Conductor, Starts
from killtest.conduct.history import History
from killtest.conduct.stage import RealStage
from killtest.explore import folder as tree_folder
from killtest.explore.disk import Tree
from killtest.halt import Halt
from killtest.judge import request_log
from killtest.judge.evidence import Course, Request
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.store.snapshot import Snapshot

Given = TypeVar("Given")
Got = TypeVar("Got")
Given_contra = TypeVar("Given_contra", contravariant=True)


class Recovery(msgspec.Struct, frozen=True):
    """How the crawler came out of a state: incarnations numbered from 1; `found` is what the store held before."""

    course: Course
    found: Snapshot
    requests: tuple[Request, ...]


class Bench:
    """One stage that recovers state after state; its store stands at the path `at`, as in the recording."""

    def __init__(self, who: Subject, site: SiteNeeds, place: Path, at: Path, clock_s: float, halt: Halt) -> None:
        """Start it in the new folder `place`."""
        place.mkdir(parents=True)
        self._who = who
        self._stage = RealStage(who, site, place, halt=halt, at=at)
        self._stage.clock_s = clock_s
        self._history = History(place / "history.jsonl")
        self._next = 1
        self._courses: dict[bytes, tuple[int, Course, Snapshot]] = {}

    def recover(self, group: bytes, tree: Tree) -> None:
        """Start the crawler on that state."""
        stage, first = self._stage, self._next
        stage.first = first - 1
        tree_folder.write(tree, stage.store)
        stage.empty_scratch()
        stage.site.forget_keys()
        found = stage.snapshot(0)
        course = Conductor([], self._who.limits, stage, self._history, Starts(first=first)).run()
        self._courses[group] = (first, course, found)
        self._next += len(course.incarnations)

    def close(self) -> dict[bytes, Recovery]:
        """End the stage; what came of each state."""
        try:
            self._stage.site.sync()
        finally:
            self._stage.close()
            self._history.close()
        log = tuple(request_log.read(self._stage.folder / "site.jsonl"))
        return {group: _recovery(*facts, log) for group, facts in self._courses.items()}


def _recovery(first: int, course: Course, found: Snapshot, log: tuple[Request, ...]) -> Recovery:
    """The facts with incarnations numbered from 1, as behind a recorded incarnation 0."""
    shift = first - 1
    numbers = range(first, first + len(course.incarnations))
    own = tuple(
        msgspec.structs.replace(request, incarnation=request.incarnation - shift)
        for request in log
        if request.incarnation in numbers
    )
    incarnations = tuple(msgspec.structs.replace(one, number=one.number - shift) for one in course.incarnations)
    snapshots = tuple(msgspec.structs.replace(one, incarnation=one.incarnation - shift) for one in course.snapshots)
    return Recovery(msgspec.structs.replace(course, incarnations=incarnations, snapshots=snapshots), found, own)


class Work(Protocol[Given_contra, Got]):
    """What `recover_all` needs of a bench."""

    def recover(self, group: bytes, tree: Given_contra, /) -> None:
        """Have the crawler run on what is given."""

    def close(self) -> dict[bytes, Got]:
        """End it; what came of each."""


@dataclass(frozen=True)
class Benches(Generic[Given, Got]):
    """So many side by side, each opened in a folder of its own below `place`."""

    place: Path
    open: Callable[[Path, Halt], Work[Given, Got]]
    jobs: int

    def folder(self, number: int) -> Path:
        """Where the n-th of them stands."""
        return self.place / f"bench-{number}"

    def clear(self) -> None:
        """Remove their folders."""
        for number in range(self.jobs):
            shutil.rmtree(self.folder(number), ignore_errors=True)


def recover_all(
    states: Mapping[bytes, Given], benches: Benches[Given, Got], done: Callable[[], None]
) -> dict[bytes, Got]:
    """Recover every state (or try every error); `done` is called after each.

    The benches' folders are gone afterwards, also when the user ends it; a failure leaves them, for what they hold.
    """
    try:
        found = _recovered(states, benches, done)
    except (KeyboardInterrupt, SystemExit):
        benches.clear()
        raise
    benches.clear()
    return found


def _recovered(
    states: Mapping[bytes, Given], benches: Benches[Given, Got], done: Callable[[], None]
) -> dict[bytes, Got]:
    waiting: queue.SimpleQueue[tuple[bytes, Given]] = queue.SimpleQueue()
    for item in states.items():
        waiting.put(item)
    halt = Halt()

    def work(number: int) -> dict[bytes, Got]:
        bench = benches.open(benches.folder(number), halt)
        try:
            while not waiting.empty():
                try:
                    group, tree = waiting.get_nowait()
                except queue.Empty:
                    break
                bench.recover(group, tree)
                done()
        finally:
            found = bench.close()
        return found

    with halt.side_by_side(benches.jobs, [partial(work, number) for number in range(benches.jobs)]) as futures:
        results = [future.result() for future in futures]
    return {group: recovery for found in results for group, recovery in found.items()}
