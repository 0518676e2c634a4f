"""Read an SQLite store from a copy of its files.

Opening a killed database in place would roll back its journal or checkpoint and delete its WAL: the restart
would then find another state than the kill left. The copy takes the set of db, -wal and -journal, and not
-shm, which SQLite rebuilds.
"""

import shutil
import sqlite3
from pathlib import Path

import msgspec

from killtest.errors import QueryError, StoreError
from killtest.store import transaction
from killtest.store.rows import Rows, row_of

_COMPANIONS = ("", "-wal", "-journal")
MAGIC = b"SQLite format 3\0"


def read(database: Path, query: str, scratch: Path) -> Rows | None:
    """The rows that `query` gives, as a restart would find them; None while there is no database or no table yet."""
    if not database.exists():
        return None
    in_commit = transaction.is_open(database.resolve())
    connection = open_copy(database, scratch)
    try:
        rows = _run(connection, query)
        return msgspec.structs.replace(rows, damage=_damage(connection), in_commit=in_commit)
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        kind = QueryError if "no such column" in str(error) or "syntax error" in str(error) else StoreError
        raise kind(f"store {database.name}: {error} (query: {query})") from error
    except sqlite3.Error as error:
        raise StoreError(f"store {database.name}: {error} (query: {query})") from error
    finally:
        connection.close()


def open_copy(database: Path, scratch: Path) -> sqlite3.Connection:
    """A connection to a copy in `scratch`, as a restart would find it; OSError when there can be none."""
    copy = scratch / database.name
    home = database.resolve()  # SQLite looks for the companions beside the file that a link leads to
    for suffix in _COMPANIONS:
        source = home.with_name(home.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    connection = sqlite3.connect(copy)
    # Text that is no UTF-8 spoils its own value only.
    connection.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
    return connection


def tables(database: Path, scratch: Path) -> dict[str, list[str]]:
    """The columns of every table, in the same copy; StoreError when it can't be read."""
    connection = open_copy(database, scratch)
    try:
        found = connection.execute(
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        columns: dict[str, list[str]] = {}
        for table, column in found:
            columns.setdefault(table, []).append(column)
        return columns
    except sqlite3.Error as error:
        raise StoreError(f"store {database.name}: {error}") from error
    finally:
        connection.close()


def _run(connection: sqlite3.Connection, query: str) -> Rows:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or ()]
    if "key" not in names:
        raise QueryError(f"the query gives no column `key`, only {', '.join(names) or 'nothing'}: {query}")
    rows = (dict(zip(names, values, strict=True)) for values in cursor)
    return Rows(tuple(row_of(row, f"row {number}") for number, row in enumerate(rows, 1)))


def _damage(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The first thing that SQLite's own check finds: rows may be read, and tree and index disagree all the same."""
    try:
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.OperationalError:
        return ()  # it needs something of the subject's own, such as a collation or a module
    except sqlite3.DatabaseError as error:
        found = str(error)
    return () if found == "ok" else (f"integrity check: {' '.join(str(found).split())}",)
