"""Every page as it came, one JSON line each, at the end of a file.

A line is durable before its page is stored: no row is without its source. So a page that has to be fetched again is in
the file twice, which does no harm. A kill or a power cut can tear the last line, and no other, as one is synced before
the next is begun; half a line is cut off before anything is written behind it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from durable import naming, sync_folder

BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class Captures:
    """The captures in a file; any number of workers may share it."""

    path: Path

    def prepare(self) -> None:
        """Make the file where there is none, and heal its end."""
        with self._locked():
            pass
        sync_folder(self.path.parent)

    def append(self, url: str, body: str, fetched_s: float) -> None:
        """Add a page, durably. FileError when it can't be written."""
        line = json.dumps({"url": url, "fetched_at": fetched_s, "body": body}, ensure_ascii=False)
        with self._locked() as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, for one worker at a time, and with a sound end. The kernel takes the lock off a dead one."""
        with naming(self.path), self.path.open("ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            heal(file)
            yield file


def heal(file: BinaryIO) -> None:
    """Cut the last line off when it isn't whole; at most one line can be torn, so at most one is cut off."""
    start, line = last_line(file)
    if line and not is_whole(line):
        file.truncate(start)


def last_line(file: BinaryIO) -> tuple[int, bytes]:
    """Where the last line begins, in bytes, and the line; read from the end, as files of captures are long."""
    start, line = file.seek(0, os.SEEK_END), b""
    while start > 0:
        block_bytes = min(BLOCK_BYTES, start)
        start = file.seek(start - block_bytes)
        line = file.read(block_bytes) + line
        before = line.rfind(b"\n", 0, len(line) - 1)
        if before >= 0:
            return start + before + 1, line[before + 1 :]
    return 0, line


def is_whole(line: bytes) -> bool:
    """Whether a line is all there; a power cut may also leave its length, with zeros in it."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return line.endswith(b"\n")
