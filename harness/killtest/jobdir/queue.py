"""One queue of a JOBDIR: what it holds, and what a resume that opens it would get."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set

import msgspec

from killtest.jobdir import queued_request
from killtest.jobdir.plain_value import Undecodable, printable
from killtest.jobdir.queue_place import QueuePlace
from killtest.jobdir.queued_request import QueuedRequest
from killtest.jobdir.stored import Finding, Kind, Stored, Then

FIRST = 5
Decoded = Mapping[bytes, QueuedRequest | str]


class Count(msgspec.Struct, frozen=True):
    """How many requests, and of how many of them requests.seen is known to hold the fingerprint."""

    requests: int = 0
    known: int = 0


class Queue(msgspec.Struct, frozen=True):
    """`path` is below the JOBDIR; `slot` and `priority` are as in active.json (negated), `start`: of start requests.

    `records` are the whole ones, `pending` those behind the position that the queue remembers, `believed` the length it
    will think it has when it is opened; None: opening it raises `opening`. When it is opened and nothing is added it
    gives `gives` requests, `raising` times something that can't be decoded, and `then` is empty, or gives nothing and
    still counts (stuck), or raises. Of those pending it never takes `left`; `lost` are these and the undecodable ones.
    `first` are some of what it gives; of the pending where it gives nothing. `skips`: as in `Stored`.
    """

    path: str
    kind: Kind
    slot: str
    priority: int
    start: bool
    listed: bool
    records: int
    pending: Count
    believed: int | None
    gives: int
    raising: int
    left: int
    lost: Count
    then: Then
    opening: str
    first: tuple[QueuedRequest, ...]
    skips: int = 0


def of(
    stored: Stored, seen: Set[bytes], path: str, place: QueuePlace, listed: bool
) -> tuple[Queue, tuple[Finding, ...]]:
    """The queue in these files, and what is wrong with it."""
    decoded = {data: _decode(data, seen) for data in {*stored.pending, *stored.pops}}
    good = [data for data in stored.pops if isinstance(decoded[data], QueuedRequest)]
    queue = Queue(
        path,
        stored.kind,
        printable(place.slot),
        place.priority,
        place.start,
        listed,
        len(stored.records),
        _count(stored.pending, decoded),
        stored.believed,
        len(good),
        len(stored.pops) - len(good),
        (Counter(stored.pending) - Counter(stored.pops)).total(),
        _count((Counter(stored.pending) - Counter(good)).elements(), decoded),
        stored.then,
        stored.opening,
        _first(good or stored.pending, decoded),
        stored.skips,
    )
    found = [*stored.findings, *_undecodable(stored.pending, decoded)]
    return queue, tuple(msgspec.structs.replace(one, path=path) for one in found)


def _decode(data: bytes, seen: Set[bytes]) -> QueuedRequest | str:
    try:
        return queued_request.read(data, seen)
    except Undecodable as error:
        return str(error)


def _count(records: Iterable[bytes], decoded: Decoded) -> Count:
    requests = [decoded[data] for data in records]
    return Count(len(requests), sum(isinstance(one, QueuedRequest) and one.is_known is True for one in requests))


def _first(records: Iterable[bytes], decoded: Decoded) -> tuple[QueuedRequest, ...]:
    requests = [one for data in records if isinstance(one := decoded[data], QueuedRequest)]
    return tuple(requests[:FIRST])


def _undecodable(records: tuple[bytes, ...], decoded: Decoded) -> list[Finding]:
    bad = [why for data in records if isinstance(why := decoded[data], str)]
    if not bad:
        return []
    return [Finding("undecodable_record", f"{len(bad)} of {len(records)} records can't be decoded: {bad[0][:120]}")]
