"""Where a fault hit: the page requests of its incarnation until then. From it a timer becomes a request."""

from collections.abc import Iterator

import msgspec

from killtest.judge.evidence import Evidence, FaultRecord
from killtest.plan.fault import Fault, Trigger


class Hit(msgspec.Struct, frozen=True):
    """The page requests that had arrived when a fault struck, oldest first, by path.

    `open` is the number, from 1, of the youngest that was not answered yet; 0 when all were. Without any path the fault
    struck before the first request.
    """

    paths: tuple[str, ...] = ()
    open: int = 0


def hits_of(evidence: Evidence) -> tuple[Hit | None, ...]:
    """The hit of each planned fault, in order; None for one that was not reached."""
    return tuple(_hit(fault, evidence) for fault in evidence.course.faults)


def _hit(fault: FaultRecord, evidence: Evidence) -> Hit | None:
    moment_s = fault.t_s
    if moment_s is None:
        return None
    arrived = [
        request
        for request in evidence.requests
        if request.kind == "page"
        and request.incarnation == fault.incarnation
        and not request.late
        and request.arrived_s <= moment_s
    ]
    still = [n for n, request in enumerate(arrived, 1) if request.ended_s is None or request.ended_s > moment_s]
    return Hit(tuple(request.path for request in arrived), max(still, default=0))


def facts_for(fault: Fault, hit: Hit | None) -> Iterator[Fault]:
    """The timed fault at the request that it hit, likeliest first; nothing where it hit none."""
    if not fault.trigger.is_timed or hit is None or not hit.paths:
        return
    last = len(hit.paths)
    triggers = (Trigger("request", n=hit.open), Trigger("response", n=hit.open))
    if not hit.open:
        triggers = (Trigger("response", n=last), Trigger("request", n=last + 1))
    for trigger in triggers:
        yield msgspec.structs.replace(fault, trigger=trigger)


def by_path(fault: Fault, hit: Hit | None) -> Fault | None:
    """The fault at a numbered request or response, named by its page; None where there is no such page."""
    trigger = fault.trigger
    is_numbered = trigger.kind in ("request", "response") and trigger.path is None
    if not is_numbered or hit is None or len(hit.paths) < trigger.n:
        return None
    path = hit.paths[trigger.n - 1]
    nth = hit.paths[: trigger.n].count(path)
    return msgspec.structs.replace(fault, trigger=Trigger(trigger.kind, n=nth, path=path))
