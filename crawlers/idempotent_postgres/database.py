"""A connection to PostgreSQL that outlives the server: what is asked of it is asked again until it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

Answer = TypeVar("Answer")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0


class Database:
    """One database; `run` gives it work. While the server is away `say` gets one line, and one when it is back."""

    def __init__(self, url: str, say: Callable[[str], None], patience_s: float = 60.0) -> None:
        """Nothing is asked yet. A server that stays away for longer than `patience_s` seconds is given up."""
        self._url, self._say, self._patience_s = url, say, patience_s
        self._connection: psycopg.Connection | None = None

    def run(self, work: Callable[[psycopg.Connection], Answer]) -> Answer:
        """Call `work` with the connection, in one transaction, and return its answer once that is committed.

        When the server dies, or takes us for one side of a deadlock, all of it is done again. If it died while it was
        committing, nobody knows whether it had: `work` must find out by itself that it has been done. Any other error,
        such as a full disk, undoes the transaction and is raised; so is psycopg.OperationalError when patience ends.
        """
        while True:
            connection = self._connected()
            try:
                with connection.transaction():
                    return work(connection)
            except psycopg.errors.TransactionRollback:
                continue
            except psycopg.OperationalError:
                if not connection.closed:
                    raise

    def close(self) -> None:
        """Let go of the server."""
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._reached()
        return self._connection

    def _reached(self) -> psycopg.Connection:
        """A new connection, as soon as there is a server that lets us in."""
        gives_up_s = time.monotonic() + self._patience_s
        pause_s, waits = FIRST_PAUSE_S, False
        while True:
            try:
                # Prepared statements would have to be made again on each new connection; autocommit: `run` says
                # where transactions begin and end.
                connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=None, connect_timeout=5)
            except psycopg.OperationalError as error:
                if time.monotonic() > gives_up_s:
                    raise
                if not waits:
                    self._say(f"waiting for the database: {str(error).splitlines()[0]}")
                waits = True
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                if waits:
                    self._say("the database is back")
                return connection
