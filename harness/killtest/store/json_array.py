"""Read a JSON store: one array of objects, in one file or in each that a pattern names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from killtest.store import objects
from killtest.store.rows import Row, Rows, instead_of, row_of
from killtest.store.text import BOM, Text, excerpt, read_all

# What may stand before, between and behind the objects; an array may be the one list of an object: {"items": […]}.
_OPENING = re.compile(rb"(\{[^{}\[\]]*:\s*)?\[")
_CLOSING = re.compile(rb"\]([^{}\[\]]*\})?")
_TRAILING_COMMA = re.compile(rb",\s*\]([^{}\[\]]*\})?")
_CLOSED = re.compile(rb"[\s,\[\]]*\]([^{}\[\]]*\})?")
_ANOTHER = re.compile(rb"[\s,{\[\]}]*(\{[^{}\[\]]*:\s*)?\[")


def read(folder: Path, pattern: str, key: str) -> Rows | None:
    """The rows of all files below `folder` that match `pattern`; None while there is none.

    The array may be the one list of an object, and any other object is a row by itself. Of a file that is no
    JSON every whole object with the key is a row, and all that is wrong between them is damage.
    """
    return read_all(folder, pattern, lambda text: _read(text, key))


def _read(text: Text, key: str) -> Rows:
    data = text.data
    if data.startswith(BOM):
        data = b" " * len(BOM) + data[len(BOM) :]
    if not data.strip():
        return Rows((), text.damage, in_commit=True)
    try:
        found = msgspec.json.decode(data)
    except objects.ERRORS as error:
        return _salvaged(text, data, key, error)
    items = _items(found, key)
    if items is None:
        reason = "neither an array nor an object"
        return Rows((), (*text.damage, f"{text.label}byte 0: {reason}"), text.is_torn)
    rows: list[Row] = []
    damage = list(text.damage)
    for number, item in enumerate(items, 1):
        place = f"{text.label}item {number}"
        if isinstance(item, dict):
            rows.append(row_of(item | {"key": item.get(key)}, place))
        else:
            damage.append(f"{place}: not an object")
    instead = None if damage else instead_of(key, items)
    return Rows(tuple(rows), tuple(damage), text.is_torn, instead)


def _items(found: Any, key: str) -> list[Any] | None:
    """The rows to be; an object is the wrapping of an array when the one list in it holds nothing but objects."""
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        is_wrapping = key not in found and len(lists) == 1 and all(isinstance(item, dict) for item in lists[0])
        return lists[0] if is_wrapping else [found]
    return found if isinstance(found, list) else None


def _salvaged(text: Text, data: bytes, key: str, error: Exception) -> Rows:
    found = list(objects.search(data, key))
    rows = [
        row_of(one.columns | {"key": one.columns[key]}, f"{text.label}item {number}")
        for number, one in enumerate(found, 1)
    ]
    flaws = [*_between(text, data, found), *((one.start, one.flaw) for one in found if one.flaw)]
    if not flaws and not text.damage:
        flaws = [(0, str(error))]
    damage = [*text.damage, *(f"{text.label}byte {at}: {flaw}" for at, flaw in sorted(flaws))]
    end = found[-1].end if found else 0
    return Rows(tuple(rows), tuple(damage), text.is_torn or not _CLOSED.fullmatch(data[end:].strip()))


def _between(text: Text, data: bytes, found: list[objects.Found]) -> Iterator[tuple[int, str]]:
    """What is wrong before, between and behind the whole objects; at a seam it has been told already."""
    starts = [0, *(one.end for one in found)]
    ends = [*(one.start for one in found), len(data)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        gap = data[start:end]
        flaw = _flaw(gap.strip(), is_first=number == 0, is_last=number == len(found))
        if flaw and not any(start <= seam <= end for seam in text.seams):
            yield end - len(gap.lstrip(b", \t\r\n")), flaw


def _flaw(gap: bytes, is_first: bool, is_last: bool) -> str | None:
    """What is wrong with what stands before, between or behind whole objects; None for what must stand there."""
    if is_last:
        flaw = _flaw_of_end(gap, is_first)
    elif is_first:
        flaw = None if _OPENING.fullmatch(gap) else "" if gap else "no opening bracket"
    else:
        flaw = None if gap == b"," else "" if gap else "no comma between two objects"
    if flaw == "":
        another = not is_last and _ANOTHER.fullmatch(gap)
        flaw = "another array begins" if another else f"half a record: {excerpt(gap.lstrip(b', '))}"
    return flaw


def _flaw_of_end(gap: bytes, is_first: bool) -> str | None:
    # What is first as well is a file without a whole object.
    if gap in {b"", b","} or (is_first and _OPENING.fullmatch(gap)):
        return "the closing bracket is missing"
    if not is_first and _CLOSING.fullmatch(gap):
        return None
    return "a comma before the closing bracket" if _TRAILING_COMMA.fullmatch(gap) else ""
