"""What the files of a JOBDIR say against each other: each may be whole, and a resume goes wrong all the same."""

from collections.abc import Iterator

from killtest.jobdir import index_file, queue_place
from killtest.jobdir.index_file import Index
from killtest.jobdir.plain_value import counted, printable
from killtest.jobdir.resume import OnDisk
from killtest.jobdir.seen_file import NAME as SEEN
from killtest.jobdir.stored import Finding


def find(disk: OnDisk, loads: int) -> Iterator[Finding]:
    """The contradictions, none behind a clean stop; `loads` is how many requests a resume loads."""
    pending = sum(queue.pending.requests for queue in disk.queues)
    if disk.index is None:
        if pending or disk.seen.count or disk.state is not None:
            words = "it is not there: a resume loads no queue; it is written at a clean stop, and not before"
            yield Finding("no_index", words, index_file.NAME)
    elif not disk.index.error:
        yield from _not_listed(disk)
        yield from _without_file(disk.index, {queue.path for queue in disk.queues})
    had_finished = disk.index is not None and not disk.index.slots and not disk.index.error and not pending
    if disk.seen.count and not loads and not had_finished:
        words = f"{counted(disk.seen.count, 'fingerprint')}, and no queued request that a resume loads"
        yield Finding("seen_without_queue", words, SEEN)


def _not_listed(disk: OnDisk) -> Iterator[Finding]:
    for queue in disk.queues:
        if not queue.listed and queue.pending.requests:
            words = f"active.json does not list it, and it holds {counted(queue.pending.requests, 'request')}"
            yield Finding("queue_not_listed", words, queue.path)


def _without_file(index: Index, there: set[str]) -> Iterator[Finding]:
    for slot, priorities in index.slots.items():
        for priority in priorities:
            paths = {printable(queue_place.path_of(slot, priority, start)) for start in (False, True)}
            if not paths & there:
                words = f"active.json lists priority {priority} of {printable(slot) or 'all'}, and no queue is there"
                yield Finding("listed_without_file", words, min(paths))
