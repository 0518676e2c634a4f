"""A durable crawl frontier in SQLite: which URLs are known, which are done, who is working on which.

It keeps three promises, whatever moment the process dies at:

- a URL is known once: adding it again changes nothing, whatever state it is in;
- a URL's results, the links found on it and its "done" are stored together or not at all;
- a URL that somebody was working on comes back when the lease runs out, for this program or another.

These are decisions of the article 设计幂等爬虫:中断后重启而不重复 (Shifter). Two things differ from it:
finding the next URL is one look into an index, however many URLs are known, and a failed transaction
always reports its first cause. The module needs the standard library only and knows nothing of the crawl.

States: `pending` (to be fetched, not before `due_at`), `leased` (being fetched; `due_at` is when the lease
runs out), `done` and `failed` (both final, `due_at` is NULL). So one index over `due_at` answers both
"what is next?" and "how long until something is?", for new pages, retries and abandoned leases alike.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS frontier (
        seq      INTEGER PRIMARY KEY,
        url      TEXT NOT NULL UNIQUE,
        state    TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'leased', 'done', 'failed')),
        due_at   REAL,
        lease_no INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        lost     INTEGER NOT NULL DEFAULT 0,
        reason   TEXT)""",
    # Partial: pages that are done leave the index, so it stays as small as the work that is left.
    "CREATE INDEX IF NOT EXISTS frontier_due ON frontier (due_at) WHERE due_at IS NOT NULL",
)
ADD_SQL = "INSERT INTO frontier (url, due_at) VALUES (?, ?) ON CONFLICT (url) DO NOTHING"
LEASE_SQL = """UPDATE frontier SET state = 'leased', due_at = :until, lease_no = lease_no + 1,
    lost = lost + (state = 'leased')
    WHERE seq = (SELECT seq FROM frontier WHERE due_at BETWEEN :low AND :high ORDER BY due_at, seq LIMIT 1)
    RETURNING seq, url, lease_no, attempts, lost"""
NEXT_DUE_SQL = "SELECT min(due_at) FROM frontier WHERE due_at IS NOT NULL"
RENEW_SQL = "UPDATE frontier SET due_at = ? WHERE seq = ? AND state = 'leased' AND lease_no = ?"
SETTLE_SQL = """UPDATE frontier SET state = ?, due_at = ?, attempts = ?, reason = ?
    WHERE seq = ? AND state = 'leased' AND lease_no = ?"""
FOREVER = 1e300
MAX_LOST = 20  # a page that kills whoever fetches it must not be fetched for ever


class LeaseLost(Exception):
    """The lease ran out and somebody else has taken the URL since: what was about to be stored was not."""


@dataclass(frozen=True)
class Lease:
    """The right to work on one URL. `number` is the fencing token: it grows each time the URL is leased."""

    seq: int
    url: str
    number: int
    attempts: int  # failed attempts so far; a lease that merely ran out is not one
    lost: int = 0  # leases of it that ran out: their holders died, hung or were too slow


def connect(path: str) -> sqlite3.Connection:
    """Open or create the database. Raises sqlite3.Error when that is not possible.

    WAL: one file sync per commit instead of three or more, and readers never wait for the crawl.
    synchronous FULL: a commit outlives a power cut. With NORMAL the file would stay sound, but pages
    already reported as done could be forgotten and fetched again. SYNCHRONOUS in the environment sets another
    level, to see what it costs in a power cut.
    """
    db = sqlite3.connect(path, timeout=30, isolation_level=None)  # None: transactions only where we say so
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {os.environ.get('SYNCHRONOUS', 'FULL')}")
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Everything inside is committed together, or nothing is and the first error is the one raised.

    IMMEDIATE takes the write lock at the start: a transaction that reads first and asks for the lock later
    fails when another process has written in between. When the disk is full or broken, SQLite has already
    rolled back; a ROLLBACK would then fail itself and hide the cause, hence the question before it.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with suppress(sqlite3.Error):  # the error on its way out says more than this one
                db.execute("ROLLBACK")
        raise


def enqueue(db: sqlite3.Connection, urls: Iterable[str], due_at: float) -> None:
    """Make URLs known as `Frontier.add` does, in the caller's transaction; what is due earlier is taken up sooner."""
    db.executemany(ADD_SQL, ((url, due_at) for url in urls))


class Frontier:
    """The frontier in one open database; several processes may each have one on the same file.

    `clock` returns seconds since the epoch. It must be a wall clock: a lease written by one process is read
    by another, perhaps after a reboot, and a monotonic clock means nothing outside its own boot.
    All processes on one file should use the same settings.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        lease_s: float,
        *,
        retry_s: float = 0.5,
        max_delay_s: float = 60.0,
        max_attempts: int = 5,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`lease_s` should exceed the slowest fetch: a shorter one is harmless, but costs extra fetches.

        A URL is given up after `max_attempts` failures, and when more than MAX_LOST leases of it ran out.
        """
        self.db, self.clock = db, clock
        self.lease_s, self.retry_s, self.max_delay_s = lease_s, retry_s, max_delay_s
        self.max_attempts = max_attempts
        for statement in SCHEMA:
            db.execute(statement)

    def add(self, urls: Iterable[str]) -> None:
        """Make URLs known, to be fetched in this order. One that is known already is left as it is."""
        with transaction(self.db):
            self._add(urls)

    def lease(self) -> Lease | None:
        """Take the URL that has been due longest: a new one, a retry, or one whose lease ran out.

        None when nothing is due; ask `wait_s` then. Nothing sets a due time further ahead than the longest
        lease or delay, so one beyond that says the clock was set back: such a URL is due as well.
        """
        now = self.clock()
        horizon = now + max(self.lease_s, self.max_delay_s)
        with transaction(self.db):
            for low, high in ((0.0, now), (horizon + 1, FOREVER)):
                times = {"until": now + self.lease_s, "low": low, "high": high}
                while rows := self.db.execute(LEASE_SQL, times).fetchall():
                    lease = Lease(*rows[0])
                    if lease.lost <= MAX_LOST:
                        return lease
                    self._settle(lease, "failed", None, lease.attempts, f"{lease.lost} leases of it ran out")
        return None

    def renew(self, lease: Lease) -> bool:
        """Let the lease run for its whole time from now on; False when it is no longer the latest, or is settled."""
        return self.db.execute(RENEW_SQL, (self.clock() + self.lease_s, lease.seq, lease.number)).rowcount > 0

    def complete(self, lease: Lease, links: Iterable[str], store: Callable[[sqlite3.Connection], object]) -> None:
        """In one transaction: mark the URL done, add the links found on it, and call `store` for the results.

        `store` gets the open connection and must neither commit nor roll back; what it raises undoes
        everything. A lease that ran out is still good as long as nobody else took the URL; otherwise
        LeaseLost is raised before anything is stored.
        """
        with transaction(self.db):
            self._settle(lease, "done", None, lease.attempts, None)
            self._add(links)
            store(self.db)

    def retry(self, lease: Lease, reason: str, at_least_s: float = 0.0) -> bool:
        """Give the URL back after a failed attempt; False when that was the last one, and it is now `failed`.

        The delay doubles with each attempt, from `retry_s`; `at_least_s` is what the server asked for;
        neither makes it longer than `max_delay_s`. Raises LeaseLost like `complete`.
        """
        attempts = lease.attempts + 1
        if attempts >= self.max_attempts:
            self.fail(lease, f"{reason} (attempt {attempts}, the last)")
            return False
        delay_s = min(self.max_delay_s, max(self.retry_s * 2 ** (attempts - 1), at_least_s))
        with transaction(self.db):
            self._settle(lease, "pending", self.clock() + delay_s, attempts, reason)
        return True

    def fail(self, lease: Lease, reason: str) -> None:
        """Give the URL up for good and keep the reason. Raises LeaseLost like `complete`."""
        with transaction(self.db):
            self._settle(lease, "failed", None, lease.attempts + 1, reason)

    def wait_s(self) -> float | None:
        """Seconds until something is due, 0 if it is now; None when every URL is done or failed.

        A lease that is out counts as work to come: its holder may be dead, or may add new links. A loop that
        stops as soon as `lease` returns None leaves such pages undone.
        """
        due_at: float | None = self.db.execute(NEXT_DUE_SQL).fetchone()[0]
        return None if due_at is None else max(0.0, due_at - self.clock())

    def counts(self) -> dict[str, int]:
        """How many URLs are in each state. Reads the whole table: for a report, not for the loop."""
        return dict(self.db.execute("SELECT state, count(*) FROM frontier GROUP BY state"))

    def failures(self) -> list[tuple[str, str]]:
        """URL and reason of everything that was given up. Reads the whole table, as `counts` does."""
        failed_sql = "SELECT url, reason FROM frontier WHERE state = 'failed' ORDER BY seq"
        return self.db.execute(failed_sql).fetchall()

    def _add(self, urls: Iterable[str]) -> None:
        enqueue(self.db, urls, self.clock())

    def _settle(self, lease: Lease, state: str, due_at: float | None, attempts: int, reason: str | None) -> None:
        values = (state, due_at, attempts, reason, lease.seq, lease.number)
        if self.db.execute(SETTLE_SQL, values).rowcount == 0:
            raise LeaseLost(f"{lease.url}: lease {lease.number} is no longer the latest")
