"""The files of a folder and their bytes, read without changing or waiting for anything."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def names(folder: Path) -> Iterator[tuple[str, int]]:
    """The path and size in bytes of everything below `folder` that is no folder; links are not followed."""
    waiting = [folder]
    while waiting:  # os.walk calls itself, and Python's stack is less deep than folders may be
        folders = []
        for path in entries(waiting.pop()):
            try:
                facts = path.lstat()
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISDIR(facts.st_mode):
                folders.append(path)
            else:
                yield str(path.relative_to(folder)), facts.st_size
        waiting += reversed(folders)


def read(path: Path) -> bytes | None:
    """The bytes of a regular file; None where there is none, or it can't be read."""
    try:
        # Opening a pipe or a device in its place may wait, or do something.
        return path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else None
    except (OSError, ValueError):
        return None


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, in order; nothing where it can't be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def begins(path: Path, start: bytes) -> bool:
    """Whether it is a regular file that begins with these bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except (OSError, ValueError):
        return False


def denied(folder: Path) -> Path | None:
    """The first file or folder, from `folder` down, that we may not read; None where we may read everything."""
    waiting = [folder]
    while waiting:
        for path in (here := waiting.pop(), *entries(here)):
            is_folder = path.is_dir() and not path.is_symlink()
            if not os.access(path, os.R_OK | (os.X_OK if is_folder else 0), follow_symlinks=False):
                return path
            waiting += [path] if is_folder and path != here else []
    return None
