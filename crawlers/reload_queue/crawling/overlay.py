"""Laying files over a code folder, and putting the old ones back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crawling.change import BadChange, Content

SUFFIX = ".pushed"  # of files that wait for their names: no pattern that is watched takes them for code


@dataclass(frozen=True)
class Overlay:
    """What differs from the files of a folder, and what those were (None: there was none)."""

    new: Mapping[Path, Content]
    old: Mapping[Path, Content | None]

    def lay(self) -> None:
        """Replace each file in one step. Raises OSError, and then nothing has changed."""
        try:
            _replace(self.new)
        except OSError:
            self.put_back()
            raise

    def put_back(self) -> None:
        """What was there before is there again; raises OSError."""
        _replace({path: content for path, content in self.old.items() if content is not None})
        for path in (path for path, content in self.old.items() if content is None):
            path.unlink(missing_ok=True)
            with suppress(OSError):  # until one is not empty
                for folder in path.parents:
                    folder.rmdir()


def over(root: Path, files: Mapping[str, Content]) -> Overlay:
    """What laying files over a folder would change; nothing is written yet. Raises BadChange, or OSError."""
    new, old = {}, {}
    for name, content in files.items():
        path = (root / name).resolve()  # a link is followed, so that it stays one
        if not path.is_relative_to(root.resolve()):
            raise BadChange(f"{root / name} leads out of the code folder, to {path}")
        before = Content(path.read_bytes(), path.stat().st_mode & 0o7777) if path.exists() else None
        if before is None or before.data != content.data:
            new[path] = Content(content.data, before.mode if before else content.mode)
            old[path] = before
    return Overlay(new, old)


def _replace(files: Mapping[Path, Content]) -> None:
    """All are written first and get their names right behind one another: hardly anybody sees half a change."""
    waiting: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting[path] = path.with_name(f".{path.name}.{os.getpid()}{SUFFIX}")
            _write(waiting[path], content, path)
        for path, beside in waiting.items():
            beside.replace(path)
    finally:
        for beside in waiting.values():
            beside.unlink(missing_ok=True)


def _write(path: Path, content: Content, place: Path) -> None:
    with path.open("wb") as file:
        with suppress(FileNotFoundError, PermissionError):  # a new file, or we are not root: it is ours then
            about = place.stat()
            os.fchown(file.fileno(), about.st_uid, about.st_gid)
        os.fchmod(file.fileno(), content.mode)
        file.write(content.data)
        file.flush()
        os.fsync(file.fileno())
