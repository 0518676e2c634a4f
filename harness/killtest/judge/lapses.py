"""Pages that were in two hands: asked for again while somebody was still at it, or again in one incarnation. Pure.

With several workers on one queue that is what a lease is for, so each of them names a lease that lapsed. A repetition
after a restart is none, and neither is a retry of what the site had refused or broken itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from math import inf
from typing import Literal

import msgspec

from killtest.judge.course import FaultRecord
from killtest.judge.request_log import Request

# So many are kept, with a count of all.
SHOWN = 20
First = Literal["open", "gone", "answered"]


class Lapse(msgspec.Struct, frozen=True):
    """One page that was taken over: times in seconds from the start of the trial.

    `first` is what had become of the earlier request when the later one arrived: it was still `open`, its client had
    `gone` without an answer, as dead workers do, or it had been `answered`. A process that stands still may have been
    answered: what the kernel took for it counts. Who asked is told by the connection and the incarnation. `fault` is
    the last signal in between that found this page in flight; None when there was none.
    """

    url: str
    began_s: float
    incarnation: int
    connection: int
    after_s: float
    again_incarnation: int
    again_connection: int
    first: First
    fault: str | None = None


class Lapses(msgspec.Struct, frozen=True):
    """How many there were, and the first of them in order of the later request."""

    count: int = 0
    leases: tuple[Lapse, ...] = ()


class Watch:
    """Sees the page requests of a trial in any order, those for pages asked for once left out."""

    def __init__(self, faults: Sequence[FaultRecord] = (), began_s: float = 0.0) -> None:
        """`began_s` is the second of CLOCK_MONOTONIC at which the trial began."""
        self._blows = [one for one in faults if one.t_s is not None and one.scope is not None]
        self._began_s = began_s
        self._seen: dict[str, list[Request]] = defaultdict(list)

    def see(self, request: Request) -> None:
        """One of the requests."""
        self._seen[request.path].append(request)

    def found(self) -> Lapses:
        """What became of all that were seen."""
        taken = [pair for requests in self._seen.values() for pair in _takeovers(sorted(requests, key=_arrival))]
        first = nsmallest(SHOWN, taken, key=lambda pair: _arrival(pair[2]))
        return Lapses(len(taken), tuple(self._lapse(*pair) for pair in first))

    def _lapse(self, earlier: Request, first: First, later: Request) -> Lapse:
        return Lapse(
            url=later.path,
            began_s=round(earlier.arrived_s - self._began_s, 4),
            incarnation=earlier.incarnation,
            connection=earlier.conn,
            after_s=round(later.arrived_s - earlier.arrived_s, 4),
            again_incarnation=later.incarnation,
            again_connection=later.conn,
            first=first,
            fault=_last_between(self._blows, earlier, later),
        )


def _arrival(request: Request) -> tuple[float, int]:
    return request.arrived_s, request.seq


def _takeovers(requests: Iterable[Request]) -> Iterator[tuple[Request, First, Request]]:
    """The takeovers of one page: whose it was, what had become of that request, and the later one."""
    latest: Request | None = None
    longest: Request | None = None
    for request in requests:
        if longest is not None and _end_s(longest) > request.arrived_s:
            yield longest, "open", request
        elif latest is not None and latest.incarnation == request.incarnation and not latest.was_refused:
            yield latest, "answered" if latest.is_answered else "gone", request
        latest = request
        longest = request if longest is None or _end_s(request) > _end_s(longest) else longest


def _end_s(request: Request) -> float:
    return inf if request.ended_s is None else request.ended_s


def _last_between(blows: Iterable[FaultRecord], earlier: Request, later: Request) -> str | None:
    told = [
        one.planned
        for one in blows
        if one.t_s is not None
        and earlier.arrived_s <= one.t_s <= later.arrived_s
        and earlier.incarnation == one.incarnation
        and earlier.path in one.in_flight
    ]
    return told[-1] if told else None
