"""Several workers on one store: threads or processes (WORKER_KIND), each with its own connection and session.

The store is all that they share. A lease keeps two of them from one page, its number refuses what the slower one
would store if it ran out all the same, and a heartbeat keeps it from running out during a slow page. Nobody has to
notice that a worker died: its page comes back when the lease runs out. So whole crawlers may run side by side, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from effects import NONE, Effects
from frontier import Frontier
from heartbeat import Heartbeat
from processes import Processes, end_with_parent, is_worker
from settings import number


@dataclass(frozen=True)
class Store:
    """How workers come to the store, and what is done when it fails."""

    open: Callable[[], Frontier]  # a connection of its own for each worker
    failures: tuple[type[Exception], ...]  # what the store raises when it is full, locked or gone
    failed: Callable[[Exception], int]  # says so; the exit code
    say: Callable[[str], None]
    beyond: Effects = NONE  # what is done beyond the records


def crawl(count: int, frontier: Frontier, store: Store, report: Callable[[Frontier, int], None]) -> int:
    """Crawl what `frontier` knows with `count` workers, then report; returns the exit code."""
    longest_s = number("HELD_SECONDS", 30)
    heartbeat = Heartbeat(store.open, frontier.lease_s, longest_s, store.failures)
    if is_worker():
        return _work_alone(frontier, store, heartbeat)
    before = frontier.counts().get("done", 0)
    frontier.db.close()  # while the workers work nobody here looks
    kind = os.environ.get("WORKER_KIND", "processes")
    if kind == "threads":
        import threads  # it loads the HTTP library, which the parent of processes has no use for

        threads.run(count, store, heartbeat)
    elif kind == "processes":
        code = Processes(count, store.say).run()
        if code:
            return code
    else:
        store.say(f"WORKER_KIND is {kind!r}: threads or processes")
        return os.EX_USAGE
    frontier = store.open()
    report(frontier, frontier.counts().get("done", 0) - before)
    frontier.db.close()
    return 0


def _work_alone(frontier: Frontier, store: Store, heartbeat: Heartbeat) -> int:
    """The part of one worker process."""
    end_with_parent()
    import requests
    from worker import work

    with heartbeat, requests.Session() as session:
        work(frontier, session, store.say, heartbeat.keep, store.beyond)
    frontier.db.close()
    return 0
