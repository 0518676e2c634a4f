"""What a resume with Scrapy 2.19 does with a JOBDIR, in words.

Every sentence was seen to be so: tests/process/test_jobdir_resume.py and tests/end_to_end/test_inspect.py damage
JOBDIRs that Scrapy wrote and let it resume them. It is assumed that the settings are those of the crawl that wrote it
(queue classes, priority queue).
"""

from collections.abc import Iterator, Sequence

import msgspec

from killtest.jobdir.index_file import Index
from killtest.jobdir.plain_value import counted
from killtest.jobdir.queue import Count, Queue
from killtest.jobdir.seen_file import Seen
from killtest.jobdir.state_file import State


class Resume(msgspec.Struct, frozen=True):
    """`loads`: queued requests that a resume takes out by itself; `forgets`: those pending that it does not."""

    loads: int = 0
    forgets: int = 0
    words: tuple[str, ...] = ()


class OnDisk(msgspec.Struct, frozen=True):
    """What there is to resume from; `index` is None where active.json is missing, `state` where there is none."""

    index: Index | None
    queues: Sequence[Queue]
    seen: Seen
    state: State | str | None


def loads(disk: OnDisk) -> int:
    """How many queued requests a resume takes out by itself."""
    return sum(queue.gives for queue in _reached(disk))


def foretell(disk: OnDisk, is_clean: bool) -> Resume:
    """What a resume will do. `is_clean`: everything is as a clean stop leaves it, so that nothing was under way."""
    stop = _stop(disk)
    reached = {queue.path for queue in _reached(disk)}
    pending = sum(queue.pending.requests for queue in disk.queues)
    if stop:
        stay = [f"{counted(pending, 'queued request')} on disk stay there"] if pending else []
        return Resume(0, pending, (stop, *stay))
    forgotten = [queue.lost if queue.path in reached else queue.pending for queue in disk.queues]
    forgets = Count(sum(one.requests for one in forgotten), sum(one.known for one in forgotten))
    words = ["active.json is missing: no queue is loaded"] if disk.index is None and pending else []
    words.append(_loaded(loads(disk), pending))
    for queue in disk.queues:
        words += _queue_words(queue, queue.path in reached)
    words += [_seen_words(disk.seen), _forgotten_words(forgets, is_clean)]
    if not is_clean:
        words.append("what was under way when a process was killed is in no file")
    words.append(_state_words(disk.state))
    return Resume(loads(disk), forgets.requests, tuple(words))


def _stop(disk: OnDisk) -> str | None:
    """Why the crawl ends before its first request; None when it does not."""
    broken = next((queue for queue in disk.queues if queue.listed and queue.opening), None)
    if disk.index is not None and disk.index.error:
        what = f"active.json can't be used ({disk.index.error})"
    elif broken is not None:
        what = f"opening {broken.path} raises {broken.opening}"
    else:
        return None
    return f"a resume fails at its start: {what}; it makes no request, ends with exit code 1 and empties spider.state"


def _reached(disk: OnDisk) -> Iterator[Queue]:
    """The listed queues, in each slot up to the one that never gets empty; none where the crawl ends at its start."""
    full: set[str] = set()
    for queue in sorted(disk.queues, key=lambda one: (one.slot, one.priority, one.start)):
        if queue.listed and queue.slot not in full and not _stop(disk):
            yield queue
            if queue.then != "empty":
                full.add(queue.slot)


def _loaded(given: int, pending: int) -> str:
    if not pending:
        return "no request is queued: a resume makes its start requests and follows the links that are new"
    return f"a resume loads {given} of {counted(pending, 'queued request')}"


def _queue_words(queue: Queue, is_reached: bool) -> Iterator[str]:
    kind = "SQLite" if queue.kind == "sqlite" else queue.kind.upper()
    name = f"{queue.path} ({kind}, {counted(queue.records, 'record')})"
    if queue.opening:
        yield f"{name} is not loaded; {_pushed_to(queue)}"
    elif not queue.listed and (queue.pending.requests or queue.skips):
        yield f"{name} is not loaded{_until_pushed(queue)}"
    elif queue.listed and not is_reached and queue.believed:
        yield f"{name} waits behind one that never gets empty"
    elif queue.listed:
        yield from (f"{name}: {words}" for words in _listed_words(queue))


def _pushed_to(queue: Queue) -> str:
    if queue.opening in ("JSONDecodeError", "UnicodeDecodeError"):  # ValueErrors, which the scheduler takes for another
        return "what is queued there goes into memory, as if it could not be serialized, and ends with the process"
    return f"each request queued there raises {queue.opening} and is lost, and its fingerprint is kept"


def _until_pushed(queue: Queue) -> str:
    """What becomes of a queue that is not listed, once the spider queues a request of its slot and priority."""
    if queue.skips:
        unread = f"the first request that the spider queues there is never read ({queue.skips} bytes are skipped)"
        return f": {unread}; then the crawl waits and has no end"
    if queue.kind == "fifo" and not queue.believed:
        return ": new requests are appended behind its records, and the oldest are made, as many as are new"
    if not queue.believed:
        return ": it is deleted once the new requests in it are made"
    end = "" if queue.then == "empty" else ", and the crawl has no end"
    return f" before the spider queues a request there; then {queue.gives} of its requests are made as well{end}"


def _listed_words(queue: Queue) -> Iterator[str]:
    if (queue.records or queue.skips) and not queue.believed:
        yield "it counts 0 requests and is deleted at the start"
    elif queue.then == "stuck":
        yield f"behind {queue.gives} requests it gives none and still counts some: the crawl waits and never ends"
    elif queue.then == "raises":
        yield f"behind {queue.gives} requests each further look raises, every 5 s, and the crawl never ends"
    elif queue.left:
        which = "oldest" if queue.kind == "lifo" else "newest"
        yield f"it counts {queue.believed}; its {queue.left} {which} requests are deleted with it and never made"
    if queue.raising:
        yield f"{counted(queue.raising, 'record')} can't be decoded: taking it out raises, and it is lost"


def _seen_words(seen: Seen) -> str:
    count = len(seen.distinct)
    if not count:
        return "no fingerprint is known: a page is fetched again where a link leads to it"
    return f"{counted(count, 'fingerprint')} {'is' if count == 1 else 'are'} known: links to those pages are filtered"


def _forgotten_words(forgets: Count, is_clean: bool) -> str:
    if not forgets.requests:
        return "nothing is forgotten" if is_clean else "nothing in a queue is forgotten"
    name = f"{counted(forgets.requests, 'queued request')} {'is' if forgets.requests == 1 else 'are'} forgotten"
    if forgets.known:
        return f"{name}; the fingerprints of {forgets.known} are known: no link leads to those any more"
    return f"{name}; made again only where a link or the spider's start leads there"


def _state_words(state: State | str | None) -> str:
    if isinstance(state, str):
        return (
            "spider.state can't be read: the spider goes on without its attribute `state`, and the file is emptied"
            " when it is closed"
        )
    if state:
        return "spider.state is restored: " + ", ".join(f"{name}={value}" for name, value in list(state.items())[:5])
    return "spider.state is empty" if state is not None else "there is no spider.state: it begins empty"
