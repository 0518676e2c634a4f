"""Where the faults struck: in which danger window, if in any (docs/verdict.md). Pure.

The site's log and the store's snapshot are the better witnesses: between a trigger and its signal more requests may
have arrived, and what had been committed shows in the store alone.
"""

from collections.abc import Iterable, Sequence

import msgspec

from killtest.judge.course import Course, FaultRecord, Status, Window
from killtest.judge.request_log import Request
from killtest.judge.truth import Truth
from killtest.judge.waits import Waits
from killtest.store.snapshot import Snapshot

_SIGKILL = -9


def located(course: Course, truth: Truth, requests: Iterable[Request]) -> Course:
    """The course with what log and snapshots say of each strike: its window, and what was in flight."""
    faults = seen_in_the_log(course.faults, requests)
    faults = _with_last_windows(course, faults, requests)
    kills = _decisive_kills(course, faults)
    if kills:
        waits = Waits(truth, requests)
        for place, taken in kills.items():
            window = _window_in_the_store(course, taken, waits)
            if window is not None:
                faults[place] = msgspec.structs.replace(faults[place], window=window)
    return msgspec.structs.replace(course, faults=tuple(faults))


def seen_in_the_log(faults: Iterable[FaultRecord], requests: Iterable[Request]) -> list[FaultRecord]:
    """The records with the requests open at their moment, and whether that was before the first of the incarnation."""
    seen = list(faults)
    struck = [(place, fault.t_s, fault.incarnation) for place, fault in enumerate(seen) if fault.t_s is not None]
    first_s: dict[int, float] = {}
    in_flight: dict[int, list[str]] = {place: [] for place, _, _ in struck}
    for request in requests if struck else ():
        for place, moment_s, incarnation in struck:
            if request.arrived_s > moment_s:
                continue
            if request.incarnation == incarnation:
                first_s[place] = min(first_s.get(place, moment_s), request.arrived_s)
            if request.ended_s is None or request.ended_s > moment_s:
                in_flight[place].append(request.path)
    for place, moment_s, _ in struck:
        since_s = moment_s - first_s[place] if place in first_s else None
        seen[place] = _with_sight(seen[place], since_s, tuple(in_flight[place]))
    return seen


def _with_sight(fault: FaultRecord, since_s: float | None, in_flight: tuple[str, ...]) -> FaultRecord:
    status: Status = fault.status
    if status != "escalated":
        status = "before_first_request" if since_s is None else "struck"
    window: Window = "start-up" if since_s is None else "waiting" if in_flight else "idle"
    changes = {"status": status, "window": window, "since_first_request_s": since_s, "in_flight": in_flight}
    return msgspec.structs.replace(fault, **changes)


def _with_last_windows(course: Course, faults: list[FaultRecord], requests: Iterable[Request]) -> list[FaultRecord]:
    """The window of a sequence that a later SIGKILL decided is that of the SIGKILL."""
    killed = {one.number for one in course.incarnations if one.exit == _SIGKILL}
    later = [msgspec.structs.replace(one, t_s=one.last_s) for one in faults]
    seen = seen_in_the_log(later, requests) if any(one.last_s is not None for one in faults) else faults
    return [
        msgspec.structs.replace(one, window=last.window)
        if one.last_s is not None and one.incarnation in killed
        else one
        for one, last in zip(faults, seen, strict=True)
    ]


def _decisive_kills(course: Course, faults: Sequence[FaultRecord]) -> dict[int, Snapshot]:
    """The faults (by place) whose SIGKILL ended their incarnation after its first request, and the snapshot after each.

    A polite signal leaves time to finish what was begun.
    """
    killed = {one.number for one in course.incarnations if one.ended_by == "fault" and one.exit == _SIGKILL}
    # Signals alone have a scope: what was done to the site or to a service has ended nobody.
    struck = [(place, fault) for place, fault in enumerate(faults) if fault.t_s is not None and fault.scope is not None]
    last = {fault.incarnation: place for place, fault in struck}
    return {
        last[taken.incarnation]: taken
        for taken in course.snapshots
        if taken.incarnation in killed & last.keys() and faults[last[taken.incarnation]].window != "start-up"
    }


def _is_left_over(course: Course, taken: Snapshot) -> bool:
    """Whether the unfinished write is an earlier kill's: nobody has touched the store since."""
    before = [one for one in course.snapshots if one.incarnation < taken.incarnation]
    return bool(before) and before[-1].in_commit and before[-1].trace == taken.trace != ""


def _window_in_the_store(course: Course, taken: Snapshot, waits: Waits) -> Window | None:
    """`commit` in the middle of a write, `between` an answer and its row; None when the store tells of neither."""
    if taken.in_commit and not _is_left_over(course, taken):
        return "commit"
    if taken.error is not None:
        return None
    ended_s = {one.number: one.ended_s for one in course.incarnations}
    return "between" if waits.has_one(taken, course.began_s + ended_s[taken.incarnation]) else None
