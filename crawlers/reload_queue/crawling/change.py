"""A change of the code: files to be laid over a code folder, read once so that every instance gets the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from crawling import fingerprints


class BadChange(ValueError):
    """The change cannot be laid over a folder; the text says why and what would do."""


@dataclass(frozen=True)
class Content:
    """A file's bytes, and the permissions that it gets if there is none in its place yet."""

    data: bytes
    mode: int


@dataclass(frozen=True)
class Change:
    """Files by path from the code root; `alone` if it is one file whose place is looked up by its name."""

    files: Mapping[str, Content]
    alone: bool

    def at(self, root: Path) -> dict[str, Content]:
        """Where its files belong below a code folder. Raises BadChange."""
        if not (root / "manage.py").is_file():
            raise BadChange(f"{root} is no code folder on this machine; push where the instance runs")
        if not self.alone:
            return dict(self.files)
        ((name, content),) = self.files.items()
        found = sorted(path.relative_to(root).as_posix() for path in _known(root) if path.name == name)
        if len(found) != 1:
            what = f"several files named {name} ({', '.join(found)})" if found else f"no file named {name}"
            raise BadChange(f"{root} has {what}; push a folder in which the file has its path from the code root")
        return {found[0]: content}


def read(path: Path) -> Change:
    """The change that a file or a folder is. Raises BadChange, or OSError."""
    if path.is_file():
        return Change({path.name: _content(path)}, alone=True)
    if not path.is_dir():
        raise BadChange(f"{path} is no file and no folder")
    files = {file.relative_to(path).as_posix(): _content(file) for file in _below(path)}
    if not any(PurePosixPath(name).parts[0] in fingerprints.FOLDERS for name in files):
        folders = " or ".join(f"{name}/" for name in fingerprints.FOLDERS)
        raise BadChange(f"{path} has nothing in {folders}; its files need their paths from the code root")
    return Change(files, alone=False)


def _content(path: Path) -> Content:
    return Content(path.read_bytes(), path.stat().st_mode & 0o777)


def _known(root: Path) -> Iterator[Path]:
    """The files that a single one may replace."""
    yield from (path for path in root.iterdir() if path.is_file())
    for folder in fingerprints.FOLDERS:
        yield from _below(root / folder)


def _below(folder: Path) -> Iterator[Path]:
    """All files of a folder, without hidden ones and bytecode."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(names):
            if not name.startswith(".") and not name.endswith(".pyc"):
                yield Path(place, name)
