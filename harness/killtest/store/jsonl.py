"""Read a JSON Lines store: one object per line, in one file or in all that a pattern names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from killtest.store import objects
from killtest.store.rows import Row, Rows, instead_of, row_of
from killtest.store.text import BOM, Text, excerpt, read_all


def read(folder: Path, pattern: str, key: str) -> Rows | None:
    """The rows of all files below `folder` that match `pattern`; None while there is none.

    A line that is no object is damage, and the lines around it still count; so do whole objects in it, such as
    one that was appended to half a line.
    """
    return read_all(folder, pattern, lambda text: _read(text, key))


def _read(text: Text, key: str) -> Rows:
    rows: list[Row] = []
    damage = list(text.damage)
    whole: list[dict[str, Any]] = []
    first = 1
    decode = msgspec.json.Decoder().decode
    for run, is_cut in text.runs():
        is_torn = False
        lines = run.removeprefix(BOM).split(b"\n")
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                continue
            place = f"{text.label}line {number}"
            try:
                found = decode(line)
            except objects.ERRORS as error:
                reasons = _salvage(line, key, place, error, rows)
                is_last = line is lines[-1]
                is_torn = is_last
                damage += [] if is_last and is_cut else reasons
                continue
            if isinstance(found, dict):
                whole.append(found)
                rows.append(row_of(found | {"key": found.get(key)}, place))
            else:
                damage.append(f"{place}: not an object")
        first += len(lines)
    # What is torn tells nothing of the columns that its writer knows.
    instead = None if damage else instead_of(key, whole)
    return Rows(tuple(rows), tuple(damage), is_torn or text.is_torn, instead)


def _salvage(line: bytes, key: str, place: str, error: Exception, rows: list[Row]) -> list[str]:
    """Append the whole objects of a broken line to `rows`; returns the damage, one for each piece that is lost."""
    found = list(objects.search(line, key))
    if not found:
        return [f"{place}: {error if _is_utf8(line) else f'cut in a character, no UTF-8: {excerpt(line)}'}"]
    rows += [row_of(one.columns | {"key": one.columns[key]}, place) for one in found]
    flaws = sorted([*_halves(line, found), *((one.start, one.flaw) for one in found if one.flaw)])
    if not flaws:
        flaws = [(0, f"{len(found)} records in one line")]
    # A place names one damage: the first of a line is told by the line alone.
    return [f"{place}, byte {at}: {flaw}" if n else f"{place}: {flaw}" for n, (at, flaw) in enumerate(flaws)]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _halves(line: bytes, found: list[objects.Found]) -> Iterator[tuple[int, str]]:
    """What stands before, between and behind the whole objects."""
    starts = [0, *(one.end for one in found)]
    ends = [*(one.start for one in found), len(line)]
    for start, end in zip(starts, ends, strict=True):
        if line[start:end].strip():
            yield start, f"half a record: {excerpt(line[start:end])}"
