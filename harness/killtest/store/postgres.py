"""Read a store in PostgreSQL: from the trial's server, in a transaction that writes nothing.

The server's clients stand still or are dead; what one of them had asked for last may still be under way in the
server, and is waited for. A server that was killed is waited for while it recovers.
"""

import time
from typing import TYPE_CHECKING, Any

from killtest.errors import QueryError, StoreError, UsageError
from killtest.store.rows import Rows, row_of

if TYPE_CHECKING:
    import psycopg

_LOOK_AGAIN_S = 0.02
_AWAY_DEADLINE_S = 5.0
_RECOVERY_DEADLINE_S = 30.0
_SETTLE_DEADLINE_S = 2.0
_STATEMENT_DEADLINE_MS = 30_000
# Who waits for a lock waits for somebody who stands still.
_BUSY_SQL = """SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Lock'"""


def require(wanted_by: str) -> None:
    """UsageError when the client library is not installed."""
    try:
        import psycopg  # noqa: F401 - whether it can be had
    except ImportError:
        raise UsageError(
            f"{wanted_by}: its store is read by psycopg, not installed here: pip install 'killtest[postgres]'"
        ) from None


def read(address: str, query: str) -> Rows | None:
    """The rows that `query` gives on the server at `address`, as libpq writes it; None while there is no table yet.

    StoreError when the server does not answer or can't execute it, QueryError when the question is wrong.
    """
    require("the store")
    import psycopg

    try:
        with _connected(address) as connection:
            _settle(connection)
            connection.read_only = True
            connection.autocommit = False
            connection.execute(f"SET LOCAL statement_timeout = {_STATEMENT_DEADLINE_MS}")
            return _run(connection, query)
    except psycopg.errors.UndefinedTable:
        return None
    except (psycopg.ProgrammingError, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise QueryError(f"store in PostgreSQL: {_said(error)} (query: {query})") from error
    except psycopg.Error as error:
        raise StoreError(f"store in PostgreSQL: {_said(error)} (query: {query})") from error


def _connected(address: str) -> "psycopg.Connection[tuple[Any, ...]]":
    """A connection, as soon as the server lets us in; psycopg's error when it does not in time."""
    import psycopg

    began_s = time.monotonic()
    while True:
        try:
            return psycopg.connect(address, autocommit=True, connect_timeout=5)
        except psycopg.OperationalError as error:
            recovers = "the database system is" in str(error)  # starting up, in recovery mode
            limit_s = _RECOVERY_DEADLINE_S if recovers else _AWAY_DEADLINE_S
            if time.monotonic() - began_s > limit_s:
                raise
        time.sleep(_LOOK_AGAIN_S)  # a server offers nothing to wait on before it listens


def _settle(connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
    """Until no client's statement is being executed, or as long as that is worth waiting for."""
    ends_s = time.monotonic() + _SETTLE_DEADLINE_S
    while connection.execute(_BUSY_SQL).fetchone() != (0,) and time.monotonic() < ends_s:
        time.sleep(_LOOK_AGAIN_S)


def _run(connection: "psycopg.Connection[tuple[Any, ...]]", query: str) -> Rows:
    cursor = connection.execute(query.encode())
    names = [column.name for column in cursor.description or ()]
    if "key" not in names:
        raise QueryError(f"the query gives no column `key`, only {', '.join(names) or 'nothing'}: {query}")
    rows = (dict(zip(names, map(_told, values), strict=True)) for values in cursor)
    return Rows(tuple(row_of(row, f"row {number}") for number, row in enumerate(rows, 1)))


def _told(value: Any) -> Any:
    """Numbers of any length, times and the like as the text that they are known by."""
    return value if value is None or isinstance(value, (str, int, float, bytes, dict, list)) else str(value)


def _said(error: Exception) -> str:
    """The first line: the others show the place in a query that is shown whole."""
    return (str(error).splitlines() or [type(error).__name__])[0]
