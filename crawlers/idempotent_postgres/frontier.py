"""The durable frontier of crawlers/idempotent in PostgreSQL: the same promises, the same names, one server for all.

Two things are PostgreSQL's own. Workers that look for a page at the same moment do not wait for one another: `FOR
UPDATE SKIP LOCKED` gives each the next page that nobody is taking. And the server may die with a commit under way:
a lease settled under its own number has been settled by us, and is not settled twice. Times are the server's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from database import Database
from psycopg import Connection

SCHEMA = """CREATE TABLE IF NOT EXISTS frontier (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url      text NOT NULL UNIQUE,
    state    text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'leased', 'done', 'failed')),
    due_at   timestamptz DEFAULT now(),
    lease_no integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    lost     integer NOT NULL DEFAULT 0,
    reason   text);
    CREATE INDEX IF NOT EXISTS frontier_due ON frontier (due_at, seq) WHERE due_at IS NOT NULL"""
# Two that create the same table at once would collide in PostgreSQL's own tables, IF NOT EXISTS or not.
ONE_BY_ONE_SQL = "SELECT pg_advisory_xact_lock(hashtext('idempotent_postgres'))"
ADD_SQL = """INSERT INTO frontier (url) SELECT url FROM unnest(%s::text[]) WITH ORDINALITY AS given (url, place)
    ORDER BY place ON CONFLICT (url) DO NOTHING"""
LEASE_SQL = """UPDATE frontier SET state = 'leased', due_at = now() + make_interval(secs => %s),
    lease_no = lease_no + 1, lost = lost + (state = 'leased')::integer
    WHERE seq = (SELECT seq FROM frontier WHERE due_at <= now() ORDER BY due_at, seq LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING seq, url, lease_no, attempts, lost"""
NEXT_DUE_SQL = "SELECT extract(epoch FROM min(due_at) - now())::float FROM frontier WHERE due_at IS NOT NULL"
RENEW_SQL = """UPDATE frontier SET due_at = now() + make_interval(secs => %s)
    WHERE seq = %s AND state = 'leased' AND lease_no = %s"""
SETTLE_SQL = """UPDATE frontier SET state = %s, due_at = now() + make_interval(secs => %s), attempts = %s, reason = %s
    WHERE seq = %s AND state = 'leased' AND lease_no = %s"""
OURS_SQL = "SELECT 1 FROM frontier WHERE seq = %s AND state <> 'leased' AND lease_no = %s"
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


class Frontier:
    """The frontier in one database; any number of processes may each have one. `clock`: for what they store."""

    def __init__(
        self,
        db: Database,
        lease_s: float,
        *,
        retry_s: float,
        max_delay_s: float,
        max_attempts: int = 5,
    ) -> None:
        """Make the table where there is none. `lease_s` should exceed the slowest fetch.

        A URL is given up after `max_attempts` failures, and when more than MAX_LOST leases of it ran out.
        """
        self.db, self.clock = db, time.time
        self.lease_s, self.retry_s, self.max_delay_s = lease_s, retry_s, max_delay_s
        self.max_attempts = max_attempts
        db.run(lambda tables: [tables.execute(statement) for statement in (ONE_BY_ONE_SQL, SCHEMA)])

    def add(self, urls: Iterable[str]) -> None:
        """Make URLs known, to be fetched in this order. One that is known already is left as it is."""
        wanted = list(urls)
        self.db.run(lambda tables: tables.execute(ADD_SQL, (wanted,)))

    def lease(self) -> Lease | None:
        """Take the URL that has been due longest; None when nothing is due that nobody else is taking."""
        return self.db.run(self._lease)

    def _lease(self, tables: Connection) -> Lease | None:
        while row := tables.execute(LEASE_SQL, (self.lease_s,)).fetchone():
            lease = Lease(*row)
            if lease.lost <= MAX_LOST:
                return lease
            self._settle(tables, lease, "failed", None, lease.attempts, f"{lease.lost} leases of it ran out")
        return None

    def renew(self, lease: Lease) -> bool:
        """Let the lease run for its whole time from now on; False when it is no longer the latest, or is settled."""
        facts = (self.lease_s, lease.seq, lease.number)
        return self.db.run(lambda tables: tables.execute(RENEW_SQL, facts).rowcount > 0)

    def complete(self, lease: Lease, links: Iterable[str], store: Callable[[Connection], object]) -> None:
        """In one transaction: mark the URL done, add the links found on it, and call `store` for the results.

        Raises LeaseLost, before anything is stored, when somebody else took the URL.
        """
        found = list(links)

        def finish(tables: Connection) -> None:
            if self._settle(tables, lease, "done", None, lease.attempts, None):
                tables.execute(ADD_SQL, (found,))
                store(tables)

        self.db.run(finish)

    def retry(self, lease: Lease, reason: str, at_least_s: float = 0.0) -> bool:
        """Give the URL back after a failed attempt; False when that was the last one, and it is now `failed`."""
        attempts = lease.attempts + 1
        if attempts >= self.max_attempts:
            self.fail(lease, f"{reason} (attempt {attempts}, the last)")
            return False
        delay_s = min(self.max_delay_s, max(self.retry_s * 2 ** (attempts - 1), at_least_s))
        self.db.run(lambda tables: self._settle(tables, lease, "pending", delay_s, attempts, reason))
        return True

    def fail(self, lease: Lease, reason: str) -> None:
        """Give the URL up for good and keep the reason."""
        self.db.run(lambda tables: self._settle(tables, lease, "failed", None, lease.attempts + 1, reason))

    def wait_s(self) -> float | None:
        """Seconds until something is due, 0 if it is now; None when every URL is done or failed."""
        wait_s = self.db.run(lambda tables: tables.execute(NEXT_DUE_SQL).fetchone()[0])
        return None if wait_s is None else max(0.0, wait_s)

    def counts(self) -> dict[str, int]:
        """How many URLs are in each state."""
        query = "SELECT state, count(*) FROM frontier GROUP BY state"
        return dict(self.db.run(lambda tables: tables.execute(query).fetchall()))

    def failures(self) -> list[tuple[str, str]]:
        """The URLs given up, each with its last reason."""
        query = "SELECT url, reason FROM frontier WHERE state = 'failed' ORDER BY seq"
        return self.db.run(lambda tables: tables.execute(query).fetchall())

    def _settle(self, tables: Connection, lease: Lease, state: str, delay_s: float | None, *facts: object) -> bool:
        """Take the lease back; False when we have done so before, and only the server's answer was lost."""
        here = (lease.seq, lease.number)
        if tables.execute(SETTLE_SQL, (state, delay_s, *facts, *here)).rowcount:
            return True
        if tables.execute(OURS_SQL, here).fetchone():
            return False
        raise LeaseLost(f"{lease.url}: lease {lease.number} is no longer the latest")
