"""A queue of queuelib 1.10 in SQLite (FifoSQLiteQueue, LifoSQLiteQueue): a table queue(id, item), committed by request.

Its file is read from a copy. How long that may take is bounded, since a damaged or hostile file may hold a query that
never ends in the place of the table.
"""

import itertools
import sqlite3
from pathlib import Path

from killtest.errors import StoreError
from killtest.jobdir.stored import Finding, Stored
from killtest.store import sqlite

# Steps of SQLite's machine, some ten for each request: a million requests take a tenth of that.
_MOST_STEPS = 100_000_000
_STEPS_A_LOOK = 100_000


def read(database: Path, scratch: Path) -> Stored:
    """The queue in that file and its journal."""
    try:
        connection = sqlite.open_copy(database, scratch)
    except (OSError, sqlite3.Error) as error:
        return _damaged(str(error))
    try:
        looks = itertools.count()
        connection.set_progress_handler(lambda: next(looks) > _MOST_STEPS // _STEPS_A_LOOK, _STEPS_A_LOOK)
        return _read(connection)
    except (sqlite3.Error, StoreError, ValueError, OverflowError) as error:
        return _damaged(str(error))
    finally:
        connection.close()


def _read(connection: sqlite3.Connection) -> Stored:
    if not connection.execute("SELECT * FROM sqlite_master WHERE name = 'queue'").fetchall():
        return Stored("sqlite")  # opening makes the table
    (believed,) = connection.execute("SELECT COUNT(*) FROM queue").fetchone()
    records, flaw = _records(connection)
    flaws = (Finding("sqlite_damaged", f"{flaw}: taking a request out may raise"),) if flaw else ()
    return Stored("sqlite", records, records, believed, records, findings=flaws)


def _records(connection: sqlite3.Connection) -> tuple[tuple[bytes, ...], str]:
    """The items, as far as they can be read, and what is wrong with the file in a line, or nothing."""
    items: list[object] = []
    try:
        items.extend(item for (item,) in connection.execute("SELECT item FROM queue ORDER BY id"))
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        found = str(error)
    # What is no BLOB can't be unpickled either.
    records = tuple(item if isinstance(item, bytes) else b"" for item in items)
    return records, "" if found == "ok" else f"SQLite's own check says: {' '.join(found.split())[:120]}"


def _damaged(why: str) -> Stored:
    flaw = Finding("sqlite_damaged", f"SQLite can't read it ({why}): opening it raises")
    return Stored("sqlite", believed=None, opening="sqlite3.DatabaseError", findings=(flaw,))
