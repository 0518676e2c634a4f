"""What the code looked like at a moment: time, size and content of every file that a reload is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

# The whole folders, not the modules that are imported: one that fails to import is watched too, and data, logs and
# databases lie elsewhere or end otherwise.
FOLDERS = ("crawling", "spiders")
PATTERN = "*.py"

Print = tuple[int, int, str]
Prints = Mapping[str, Print]


def sources(root: Path) -> list[Path]:
    """All files of code, in order. Hidden ones are none: editors and file systems leave them, some as dead links."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob(PATTERN))
    return sorted(path for path in found if path.is_file() and not _is_hidden(path.relative_to(root)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def take(root: Path) -> dict[str, Print]:
    """By path below `root`: time of change (ns), size (bytes), hash of the content. Without files that vanish.

    The inode's time, not the content's: a file that was renamed away and back has the old one of those.
    """
    found: dict[str, Print] = {}
    for path in sources(root):
        try:
            about, content = path.stat(), path.read_bytes()
        except FileNotFoundError:  # between the listing and the look: deleted, or replaced by an editor
            continue
        found[path.relative_to(root).as_posix()] = (
            about.st_ctime_ns,
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
    return found


def changed(before: Prints, after: Prints) -> list[str]:
    """Which files are new, gone, or differ in anything; a touch counts."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def digest(prints: Prints) -> str:
    """One word for the whole code: equal when every file has the same content, whenever it was written."""
    lines = "".join(f"{path} {content}\n" for path, (_, _, content) in sorted(prints.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
