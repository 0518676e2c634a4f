"""Trials of failing calls, one after another on one stage: a crawl in which a call fails, and the starts behind it."""

from collections import defaultdict
from pathlib import Path

import msgspec

from killtest.call_errors.error_point import ErrorPoint
from killtest.conduct.conductor import Conductor, Starts
from killtest.conduct.history import History
from killtest.conduct.stage import RealStage
from killtest.errors import HarnessFailure
from killtest.explore import folder as tree_folder
from killtest.explore.recording import Recording
from killtest.halt import Halt
from killtest.judge import request_log
from killtest.judge.evidence import Course, Request
from killtest.plan.fault_text import parse
from killtest.plan.manifest import SiteNeeds, Subject

_TRACE_DEADLINE_S = 30.0


class Tried(msgspec.Struct, frozen=True):
    """How one trial went, as the only one on its stage: incarnations numbered from 0, and their requests."""

    course: Course
    requests: tuple[Request, ...]


class ErrorBench:
    """One stage; its store stands where that of the recording `taken` stood, and begins as it began."""

    def __init__(self, who: Subject, site: SiteNeeds, place: Path, taken: Recording, halt: Halt) -> None:
        """Start it in the new folder `place`."""
        place.mkdir(parents=True)
        self._who, self._begin = who, taken.begin
        self.stage = RealStage(who, site, place, halt=halt, at=taken.store)
        self.stage.is_traced = self.stage.skips_syncs = True
        self._history = History(place / "history.jsonl")
        self._next = 0
        self._courses: dict[bytes, tuple[int, Course]] = {}

    def recover(self, key: bytes, point: ErrorPoint) -> None:
        """One trial, from an empty store to the end."""
        stage = self.stage
        stage.first = first = self._next
        tree_folder.write(self._begin, stage.store)
        stage.empty_scratch()
        faults = [parse(point.fault)]
        course = Conductor(faults, self._who.limits, stage, self._history, Starts(first=first)).run()
        self._courses[key] = (first, course)
        self._next += len(course.incarnations)

    def close(self) -> dict[bytes, Tried]:
        """End the stage; how each trial went. HarnessFailure when a supervisor did not see all calls."""
        try:
            is_whole = self.stage.launcher.end_trace(_TRACE_DEADLINE_S)
            self.stage.site.sync()
        finally:
            self.stage.close()
            self._history.close()
        if not is_whole:
            raise HarnessFailure("the supervisor of the subject's calls failed: what came of them is not its doing")
        log: dict[int, list[Request]] = defaultdict(list)
        for request in request_log.read(self.stage.folder / "site.jsonl"):
            log[request.incarnation].append(request)
        return {key: _alone(first, course, log) for key, (first, course) in self._courses.items()}


def _alone(first: int, course: Course, log: dict[int, list[Request]]) -> Tried:
    """The facts with incarnations numbered from 0."""
    replace = msgspec.structs.replace
    requests = [one for ran in course.incarnations for one in log[ran.number]]
    whole = replace(
        course,
        incarnations=tuple(replace(one, number=one.number - first) for one in course.incarnations),
        snapshots=tuple(replace(one, incarnation=one.incarnation - first) for one in course.snapshots),
        errors=tuple(replace(one, incarnation=one.incarnation - first) for one in course.errors),
        faults=tuple(
            one if one.incarnation is None else replace(one, incarnation=one.incarnation - first)
            for one in course.faults
        ),
    )
    return Tried(whole, tuple(replace(one, incarnation=one.incarnation - first) for one in requests))
