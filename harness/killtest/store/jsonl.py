"""Read a JSON Lines store: one object per line, in one file or in all that a pattern names."""

from pathlib import Path

import msgspec

from killtest.store.files import matching
from killtest.store.rows import Row, Rows, row_of


def read(folder: Path, pattern: str, key: str) -> Rows | None:
    """The rows of all files below `folder` that match `pattern`; None while there is none.

    A file is read in one go, which copies it: JSON Lines have no companions. A line that is no object is
    damage, and the lines around it still count.
    """
    files = matching(folder, pattern)
    if not files:
        return None
    rows: list[Row] = []
    damage: list[str] = []
    for path in files:
        label = "" if len(files) == 1 else f"{path.relative_to(folder)} "
        _read_file(path.read_bytes(), label, key, rows, damage)
    return Rows(tuple(rows), tuple(damage))


def _read_file(data: bytes, label: str, key: str, rows: list[Row], damage: list[str]) -> None:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{label}line {number}"
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            damage.append(f"{place}: {error}")
            continue
        if isinstance(found, dict):
            rows.append(row_of(found | {"key": found.get(key)}, place))
        else:
            damage.append(f"{place}: not an object")
