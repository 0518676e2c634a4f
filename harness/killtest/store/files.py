"""Read a store of many files, one row each: pages saved as they came, or one document per product."""

import html
import os
import re
from pathlib import Path

from killtest.plan.manifest import StoreNeeds
from killtest.store.rows import Rows, row_of


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files below `folder` that match `pattern`, sorted."""
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def read(folder: Path, needs: StoreNeeds) -> Rows | None:
    """A row for every file below `folder` that matches `needs.path`; None while there is none.

    The patterns `key` and `fields` are searched, and what their group catches is the value. A file in which the key
    finds nothing (cut short, say) is a row without a key, at the place of its relative path, and a write under way.
    Each file is read in one go, which copies it, and not at all when only its path is asked for.
    """
    files = matching(folder, needs.path)
    if not files:
        return None
    key = re.compile(needs.key or "")
    fields = {name: re.compile(pattern) for name, pattern in needs.fields.items()}
    is_in_content = needs.key_from == "content"
    rows = []
    for path in files:
        # A name that is no UTF-8 must still fit into the evidence, which is JSON.
        place = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        text = path.read_bytes().decode("utf-8", "backslashreplace") if is_in_content or fields else ""
        columns = {name: _in_text(pattern, text) for name, pattern in fields.items()}
        found = _in_text(key, text) if is_in_content else _caught(key, place)
        rows.append(row_of(columns | {"key": found}, place))
    return Rows(tuple(rows), in_commit=any(row.key is None for row in rows))


def _in_text(pattern: re.Pattern[str], text: str) -> str | None:
    found = _caught(pattern, text)
    return None if found is None else html.unescape(found)


def _caught(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None
