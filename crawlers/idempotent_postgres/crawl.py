"""Crawl the shop into PostgreSQL; start it again after any interruption and it goes on, storing each product once.

    python crawl.py SITE_URL DATABASE_URL

A database server that dies is waited for, up to DATABASE_WAIT_SECONDS (60). The other settings are those of
crawlers/idempotent: LEASE_SECONDS (3), RETRY_SECONDS (0.5), MAX_DELAY_SECONDS (60), WORKERS (1), WORKER_KIND and
HELD_SECONDS (30).

The loop, several workers and all that knows the shop are crawlers/idempotent's `worker.py`, `crew.py` and `shop.py`:
they import `frontier` and `records`, which are found here first.

Exit codes: 0 when every known page is done or given up; 74 when the database can't be reached or written; 70 when
worker processes die again and again, right behind their start; 64 when a setting can't be used.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import psycopg
import records
from database import Database
from frontier import ONE_BY_ONE_SQL, Frontier

# Behind this folder, whose modules of the same name come first.
sys.path.append(str(Path(__file__).resolve().parents[1] / "idempotent"))
import crew
from settings import SettingError, number


def main(site_url: str, database_url: str) -> int:
    """Run one crawl; returns the exit code."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        # A worker of several leaves it to its parent to say so.
        signal.signal(signum, signal.SIG_DFL if crew.is_worker() else stop)
    try:
        return crawl(f"{site_url.rstrip('/')}/list/0", database_url)
    except psycopg.Error as error:
        return cannot_go_on(error)
    except SettingError as error:
        say(str(error))
        return os.EX_USAGE


def cannot_go_on(error: Exception) -> int:
    """Say what is wrong with the database; the exit code for it."""
    say(f"cannot go on: {str(error).splitlines()[0]} ({type(error).__name__})")
    return os.EX_IOERR


def crawl(start_url: str, database_url: str) -> int:
    """Crawl from `start_url` until nothing is left to do, then report."""
    frontier = opened(database_url)
    frontier.add([start_url])  # known already after a restart: then this does nothing
    count = int(number("WORKERS", 1))
    if count > 1:
        store = crew.Store(lambda: opened(database_url), (psycopg.Error,), cannot_go_on, say)
        return crew.crawl(count, frontier, store, report)
    import requests
    from worker import work

    with requests.Session() as session:
        completed = work(frontier, session, say)
    report(frontier, completed)
    frontier.db.close()
    return 0


def opened(database_url: str) -> Frontier:
    """The frontier in that database, which also holds the records."""
    db = Database(database_url, say, number("DATABASE_WAIT_SECONDS", 60))
    settings = {"retry_s": number("RETRY_SECONDS", 0.5), "max_delay_s": number("MAX_DELAY_SECONDS", 60)}
    frontier = Frontier(db, number("LEASE_SECONDS", 3), **settings)
    db.run(lambda tables: [tables.execute(statement) for statement in (ONE_BY_ONE_SQL, records.SCHEMA)])
    return frontier


def report(frontier: Frontier, completed: int) -> None:
    """What was given up, line by line, and the totals in the last line."""
    failures = frontier.failures()
    for url, reason in failures:
        say(f"given up: {url}: {reason}")
    say(f"finished: {completed} pages now, {sum(frontier.counts().values())} known, {len(failures)} given up")


def stop(signum: int, _frame: FrameType | None) -> None:
    """Say so and die of the signal, as whoever sent it expects."""
    os.write(2, f"stopped by {signal.Signals(signum).name}; start it again to go on\n".encode())
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


def say(line: str) -> None:
    """One line for the operator, on stderr."""
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
