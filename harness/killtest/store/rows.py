"""The rows of a snapshot, whatever store they came from."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Value = str | int | float | bool | None


class Row(msgspec.Struct, frozen=True):
    """One stored row: its natural key as text (None when it has none), its columns, and where it stands."""

    key: str | None
    values: dict[str, Value]
    place: str


class Rows(msgspec.Struct, frozen=True):
    """All rows that could be read, and the places that could not, each with its reason.

    `in_commit`: the store was in the middle of a write, as seen before any reading could change it. `instead`: the
    columns that there are instead of the key's, none where that is there; None where that can't be told.
    """

    rows: tuple[Row, ...] = ()
    damage: tuple[str, ...] = ()
    in_commit: bool = False
    instead: tuple[str, ...] | None = None


def row_of(columns: dict[str, Any], place: str) -> Row:
    """A row from its columns, of which `key` is the natural key."""
    key = columns.get("key")
    if isinstance(key, bytes):
        key = _plain(key)
    values = {name: _plain(value) for name, value in columns.items() if name != "key"}
    return Row(None if key is None else str(key), values, place)


def instead_of(key: str, tables: Iterable[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """The columns that there are instead of the key's in whole rows; see `Rows`."""
    names: dict[str, None] = {}
    for columns in tables:
        if key in columns:
            return ()
        names |= dict.fromkeys(columns)
    return tuple(names) or None


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return msgspec.json.encode(value).decode()
