"""Keys of rows that are there once for each group, such as a job: GROUP/KEY. Pure."""

from collections.abc import Iterable

import msgspec

from killtest.errors import QueryError
from killtest.store.rows import Row, Rows, Value


def grouped(rows: Rows, column: str) -> Rows:
    """The rows with their group, the value of `column`, in front of the key. A row without a key stays without one.

    QueryError when no row has that column.
    """
    if rows.rows and not any(column in row.values for row in rows.rows):
        names = ", ".join(dict.fromkeys(name for row in rows.rows for name in row.values))
        raise QueryError(f"store: no column {column!r} for the group, only {names or 'that of the key'}")
    return msgspec.structs.replace(rows, rows=tuple(_keyed(rows.rows, column)))


def group_of(row: Row, column: str) -> str | None:
    """The row's group as text; None when it has none."""
    value = row.values.get(column)
    return None if value is None else _text(value)


def _keyed(rows: Iterable[Row], column: str) -> Iterable[Row]:
    for row in rows:
        group = group_of(row, column)
        named = f"(no {column})" if group is None else group
        yield row if row.key is None else msgspec.structs.replace(row, key=f"{named}/{row.key}")


def _text(value: Value) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return f"{value:#x}"
