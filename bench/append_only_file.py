"""The counters of jobs as a Valkey or Redis server wrote them down: every change, in order, from its append-only file.

The file is the list of commands that changed something (https://valkey.io/topics/persistence/), a script's or a
MULTI's effects between MULTI and EXEC: so NR = NA - NF - NE can be looked at after each step that was taken, and no
moment between two looks is missed. An independent witness: neither the crawler nor a sampling client has a say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

# How crawlers call the counters: added, finished, failed. The published design's names come second.
_NAMES = {b"added": 1, b"finished": -1, b"failed": -1, b"NA": 1, b"NF": -1, b"NE": -1}


@dataclass
class Remaining:
    """NR of one job over time: where it is, the lowest, and how often it came to 0 or below from above."""

    now: int = 0
    lowest: int = 0
    ends: int = 0
    _parts: dict[bytes, int] = field(default_factory=dict)

    def set(self, name: bytes, value: int) -> None:
        """The counter `name` is `value` now."""
        self._parts[name] = value

    def add(self, name: bytes, change: int) -> None:
        """The counter `name` has moved by `change`."""
        self._parts[name] = self._parts.get(name, 0) + change

    def step(self) -> None:
        """A step has been taken wholly: look."""
        before, self.now = self.now, sum(_NAMES[name] * value for name, value in self._parts.items())
        self.lowest = min(self.lowest, self.now)
        self.ends += before > 0 >= self.now


def remaining(folder: Path) -> dict[str, Remaining]:
    """NR of every job in the server's folder, by the job's key. OSError when there is no append-only file."""
    jobs: dict[bytes, Remaining] = {}
    touched: set[bytes] = set()
    is_open = False
    for words in _commands(folder):
        name = words[0].upper()
        if name == b"MULTI":
            is_open = True
        for counter in _counted(name, words):
            touched.add(words[1])
            job = jobs.setdefault(words[1], Remaining())
            (job.add if name == b"HINCRBY" else job.set)(*counter)
        if name == b"EXEC" or (not is_open and touched):
            is_open = False
            for job in touched:
                jobs[job].step()
            touched.clear()
    return {key.decode(): job for key, job in jobs.items()}


def _counted(command: bytes, words: list[bytes]) -> list[tuple[bytes, int]]:
    """The counters that the command moves or sets, each with by how much or to what."""
    if command not in (b"HINCRBY", b"HSET", b"HMSET"):
        return []
    pairs = zip(words[2::2], words[3::2], strict=True)
    return [(name, int(value)) for name, value in pairs if name in _NAMES]


def _commands(folder: Path) -> Iterator[list[bytes]]:
    files = sorted(folder.glob("appendonlydir/*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
    if not files:
        raise FileNotFoundError(f"{folder}: no append-only file of a Valkey or Redis server (version 7 or newer)")
    for path in files:
        with path.open("rb") as file:
            yield from _in_file(file)


def _in_file(file: BinaryIO) -> Iterator[list[bytes]]:
    """The commands, without one at the end that a kill cut short."""
    while head := file.readline():
        if head.startswith(b"#"):
            continue  # a time stamp
        if not head.endswith(b"\r\n"):
            return
        words = [_word(file) for _ in range(int(head[1:]))]
        if None in words:
            return
        yield [word for word in words if word is not None]


def _word(file: BinaryIO) -> bytes | None:
    """The next word; None when it is not there wholly."""
    head = file.readline()
    if not head.endswith(b"\r\n"):
        return None
    size = int(head[1:])
    word = file.read(size + 2)
    return word[:size] if len(word) == size + 2 else None
