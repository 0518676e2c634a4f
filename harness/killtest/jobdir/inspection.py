"""Look at a JOBDIR of Scrapy 2.19 (queuelib 1.10): nothing in it is changed, and nothing in it is run.

What is damaged becomes a finding, whatever the bytes are.
"""

import functools
import tempfile
from collections.abc import Mapping, Set
from pathlib import Path

from killtest.jobdir import (
    contents,
    contradiction,
    fifo_folder,
    index_file,
    lifo_file,
    queue,
    queue_place,
    resume,
    seen_file,
    sqlite_file,
    state_file,
)
from killtest.jobdir.index_file import Index
from killtest.jobdir.job_dir import UNREADABLE, File, JobDir
from killtest.jobdir.plain_value import counted, printable
from killtest.jobdir.queue import Queue
from killtest.jobdir.queue_place import COMPANIONS, FOLDER, QueuePlace
from killtest.jobdir.resume import OnDisk, Resume
from killtest.jobdir.stored import Finding, Stored
from killtest.store import sqlite

LOOKED_FOR = (seen_file.NAME, FOLDER, state_file.NAME)
_KINDS = {"lifo": "LIFO queue", "fifo": "FIFO queue", "sqlite": "SQLite queue"}


def is_one(folder: Path) -> bool:
    """Whether the folder holds anything that Scrapy puts into a JOBDIR."""
    return any((folder / name).exists() for name in LOOKED_FOR)


def inspect(folder: Path, scratch: Path | None = None) -> JobDir:
    """Everything that a resume would find in `folder`. Nobody may be writing to it meanwhile.

    SQLite files are copied to a folder in `scratch`, which is gone afterwards; None: where the system keeps such.
    """
    return _Inspection(folder, scratch).job_dir()


def nothing(words: str) -> JobDir:
    """What is told where there is no JOBDIR: `words` say so."""
    finding = Finding("no_jobdir", words)
    return JobDir((), 0, 0, None, (), None, (finding,), Resume(0, 0, (f"{words}: a start begins at the beginning",)))


class _Inspection:
    """One look at a folder; findings collect in the order in which files are read."""

    def __init__(self, folder: Path, scratch: Path | None) -> None:
        self._folder = folder
        self._scratch = scratch
        self._findings: list[Finding] = []
        self._known: dict[str, tuple[str, str]] = {}

    def job_dir(self) -> JobDir:
        sizes = dict(contents.names(self._folder))
        seen = self._seen()
        index = self._index()
        queues = self._queues(index.slots if index else {}, seen.distinct)
        state = self._state()
        disk = OnDisk(index, queues, seen, state)
        self._findings += contradiction.find(disk, resume.loads(disk))
        told = {one.path for one in self._findings}
        files = tuple(self._file(name, size, told) for name, size in sizes.items())
        is_clean = all(one.name == "unknown_file" for one in self._findings)
        return JobDir(
            files,
            len(seen.distinct),
            seen.cut_bytes,
            None if index is None else UNREADABLE if index.error else _printable(index.slots),
            queues,
            state,
            tuple(self._findings),
            resume.foretell(disk, is_clean),
        )

    def _read(self, name: str) -> bytes | None:
        """The bytes of a file that Scrapy would read; a finding where it is there and can't be read."""
        data = contents.read(self._folder / name)
        if data is None and (self._folder / name).exists():
            self._findings.append(Finding("unreadable_file", "no regular file, or not to be read", printable(name)))
        return data

    def _seen(self) -> seen_file.Seen:
        data = self._read(seen_file.NAME)
        if data is None:
            return seen_file.Seen()
        seen = seen_file.read(data)
        self._findings += seen.findings
        self._known[seen_file.NAME] = ("fingerprints of requests", counted(seen.count, "fingerprint"))
        return seen

    def _index(self) -> Index | None:
        data = self._read(index_file.NAME)
        if data is None:
            return None
        index = index_file.read(data)
        slots = ", ".join(f"{slot or 'all'}: {list(found)}" for slot, found in index.slots.items())
        self._known[index_file.NAME] = ("which queues a resume opens", printable(slots) or "no queue")
        if index.error:
            self._known[index_file.NAME] = ("which queues a resume opens", UNREADABLE)
            self._findings.append(Finding("bad_index", f"{index.error}: a resume fails on it", index_file.NAME))
        return index

    def _state(self) -> state_file.State | str | None:
        data = self._read(state_file.NAME)
        if data is None:
            return UNREADABLE if (self._folder / state_file.NAME).exists() else None
        state = state_file.read(data)
        if state is None:
            words = f"{len(data)} bytes that can't be unpickled: the spider gets no attribute `state`"
            self._findings.append(Finding("state_unreadable", words, state_file.NAME))
        holds = UNREADABLE if state is None else ", ".join(f"{name}={value}" for name, value in state.items())
        self._known[state_file.NAME] = ("spider.state", printable(holds) or "empty")
        return UNREADABLE if state is None else state

    def _queues(self, listed: dict[str, tuple[int, ...]], seen: Set[bytes]) -> tuple[Queue, ...]:
        found = []
        for place in queue_place.find(self._folder / FOLDER, listed):
            stored = self._stored(place)
            if stored is not None:
                path = printable(str(place.path.relative_to(self._folder)))
                is_listed = place.priority in listed.get(place.slot, ())
                one, findings = queue.of(stored, seen, path, place, is_listed)
                self._findings += findings
                found.append(one)
        return tuple(found)

    def _stored(self, place: QueuePlace) -> Stored | None:
        name = str(place.path.relative_to(self._folder))
        if place.path.is_dir():
            return self._fifo(place.path, name)
        data = self._read(name)
        if data is None:
            return None
        is_sqlite = data.startswith(sqlite.MAGIC) or (sqlite.MAGIC.startswith(data) and self._is_sqlite(place.path))
        stored = self._sqlite(place.path) if is_sqlite else lifo_file.read(data)
        self._known[name] = (_KINDS[stored.kind], _holds(stored))
        for ending in COMPANIONS if is_sqlite else ():
            self._known[name + ending] = ("SQLite's own", "")
        return stored

    def _is_sqlite(self, empty: Path) -> bool:
        """Whether a file without content is a new database: its journal is there, or another queue is a database."""
        return empty.with_name(empty.name + "-journal").exists() or self._has_database

    @functools.cached_property
    def _has_database(self) -> bool:
        queues = self._folder / FOLDER
        folders = (queues, *contents.entries(queues))
        return any(contents.begins(path, sqlite.MAGIC) for folder in folders for path in contents.entries(folder))

    def _sqlite(self, database: Path) -> Stored:
        # One folder each: the copies of two slots have the same name.
        with tempfile.TemporaryDirectory(prefix="killtest-", dir=self._scratch) as scratch:
            return sqlite_file.read(database, Path(scratch))

    def _fifo(self, folder: Path, name: str) -> Stored:
        chunks = {}
        for path in contents.entries(folder):
            number = fifo_folder.chunk_number(path.name)
            data = None if number is None else self._read(f"{name}/{path.name}")
            if number is not None and data is not None:
                chunks[number] = data
        info = self._read(f"{name}/{fifo_folder.INFO}")
        stored = fifo_folder.read(chunks, info)
        first = min(chunks, default=0)
        for number in chunks:
            holds = _holds(stored) if number == first else ""
            self._known[f"{name}/{fifo_folder.chunk_name(number)}"] = (_KINDS["fifo"], holds)
        if info is not None:
            holds = UNREADABLE if stored.believed is None else f"counts {stored.believed}"
            self._known[f"{name}/{fifo_folder.INFO}"] = (f"{_KINDS['fifo']}: its place", holds)
        return stored

    def _file(self, name: str, size: int, told: Set[str]) -> File:
        what, holds = self._known.get(name, ("unknown", ""))
        shown = printable(name)
        if name not in self._known and shown not in told:
            self._findings.append(Finding("unknown_file", "Scrapy writes no such file", shown))
        return File(shown, size, what, holds)


def _holds(stored: Stored) -> str:
    believed = "" if stored.believed is None else f", counts {stored.believed}"
    pending = "" if len(stored.pending) == len(stored.records) else f", {len(stored.pending)} pending"
    return f"{counted(len(stored.records), 'record')}{pending}{believed}"


def _printable(slots: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {printable(slot): priorities for slot, priorities in slots.items()}
