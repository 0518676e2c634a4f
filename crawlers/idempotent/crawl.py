"""Crawl the shop; start it again after any interruption and it goes on, storing each product once.

    python crawl.py SITE_URL [DATABASE]        (DATABASE: crawl.db in the working directory)

Settings, from the environment: LEASE_SECONDS (3), RETRY_SECONDS (0.5: the first delay before a retry, doubled
each time) and MAX_DELAY_SECONDS (60: the longest delay, also for a server's Retry-After); WORKERS (1) and, for
more than one, WORKER_KIND (`threads` or `processes`) and HELD_SECONDS (30: the longest that a heartbeat renews
the lease of one slow page); EFFECTS (none): what is done beyond the records, of `images`, `webhooks` (POST to
SITE_URL/hook), `counters` and `captures`, with commas between.

Exit codes:
  0   every known page is done or has been given up. Pages given up are listed on stderr, the last line says
      how many, and they stay in the frontier as `failed` with the reason. It is 0 because starting the
      program again would change nothing: a supervisor that restarts on failure would do so for ever.
  74  the database or another file cannot be written (full disk, no permission, locked too long); one line says
      which and why. Start it again when that has been put right.
  70  worker processes die again and again, right behind their start
  64  a setting can't be used; one line says which
  A signal: one line, then it dies of that signal (a shell shows 130 for SIGINT, 143 for SIGTERM). Nothing is
  saved on the way out, since everything is on disk already: a kill -9 does no more harm.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from types import FrameType

import crew
import effects
import records
from durable import FileError
from frontier import Frontier, connect
from settings import SettingError, number

FAILURES = (sqlite3.Error, FileError)  # of what the crawl is kept in


def main(site_url: str, path: str = "crawl.db") -> int:
    """Run one crawl; returns the exit code."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        # A worker of several leaves it to its parent to say so.
        signal.signal(signum, signal.SIG_DFL if crew.is_worker() else stop)
    try:
        return crawl(f"{site_url.rstrip('/')}/list/0", path)
    except FAILURES as error:
        return cannot_go_on(error, path)
    except SettingError as error:
        say(str(error))
        return os.EX_USAGE


def cannot_go_on(error: Exception, path: str) -> int:
    """Say what is wrong with the database or another file; the exit code for it."""
    if isinstance(error, FileError):
        say(f"cannot go on: {error}")
        return os.EX_IOERR
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    say(f"cannot go on: {Path(path).absolute()}: {error} ({name})")
    return os.EX_IOERR


def stop(signum: int, _frame: FrameType | None) -> None:
    """Say so and die of the signal, as whoever sent it expects."""
    os.write(2, f"stopped by {signal.Signals(signum).name}; start it again to go on\n".encode())
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


def crawl(start_url: str, path: str) -> int:
    """Crawl from `start_url` into the database at `path` until nothing is left to do, then report."""
    try:
        beyond = effects.choose(os.environ.get("EFFECTS", ""), Path(path).parent, start_url)
    except ValueError as error:
        raise SettingError(str(error)) from None
    frontier = opened(path)
    beyond.prepare(frontier.db)
    frontier.add([start_url])  # known already after a restart: then this does nothing
    count = int(number("WORKERS", 1))
    if count > 1:
        store = crew.Store(lambda: opened(path), FAILURES, lambda error: cannot_go_on(error, path), say, beyond)
        return crew.crawl(count, frontier, store, report)
    # Imported only now: it loads the HTTP library, and a Ctrl-C during that should end as quietly as later.
    import requests
    from worker import work

    with requests.Session() as session:
        completed = work(frontier, session, say, beyond=beyond)
    report(frontier, completed)
    frontier.db.close()
    return 0


def opened(path: str) -> Frontier:
    """The frontier in the database at `path`, which also holds the records."""
    db = connect(path)
    db.execute(records.SCHEMA)
    return Frontier(
        db,
        lease_s=number("LEASE_SECONDS", 3),
        retry_s=number("RETRY_SECONDS", 0.5),
        max_delay_s=number("MAX_DELAY_SECONDS", 60),
    )


def report(frontier: Frontier, completed: int) -> None:
    """What was given up, line by line, and the totals in the last line."""
    failures = frontier.failures()
    for url, reason in failures:
        say(f"given up: {url}: {reason}")
    known = sum(frontier.counts().values())
    say(f"finished: {completed} pages now, {known} known, {len(failures)} given up")


def say(line: str) -> None:
    """One line for the operator, on stderr."""
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
