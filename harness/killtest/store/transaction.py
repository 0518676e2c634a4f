"""Whether an SQLite database was left in the middle of a transaction, by what lies beside it.

The formats: https://www.sqlite.org/fileformat2.html, "The Rollback Journal" and "The Write-Ahead Log". Nothing is
opened by SQLite here, which would roll back or recover what this is about.
"""

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
# The last bit says in which order the checksums read their words.
_WAL_MAGIC = 0x377F0682
_WAL_HEADER = struct.Struct(">8L")
_FRAME_HEADER = struct.Struct(">6L")
_WORD = 0xFFFFFFFF
Checksum = tuple[int, int]


def is_open(database: Path) -> bool:
    """True when a transaction had begun to write and not ended."""
    journal, wal = (database.with_name(database.name + suffix) for suffix in ("-journal", "-wal"))
    return (journal.is_file() and _is_hot(journal)) or (wal.is_file() and _has_open_frames(wal))


def _is_hot(journal: Path) -> bool:
    """A journal without pages, or with its header zeroed, has ended or has not yet allowed a write."""
    with journal.open("rb") as handle:
        return handle.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC


class _Wal(NamedTuple):
    """What the header of a WAL says that its frames must agree with."""

    order: str
    page_size: int
    salts: tuple[int, int]
    checksum: Checksum


class _Frame(NamedTuple):
    header: bytes
    is_commit: bool
    checksum: Checksum


def _has_open_frames(wal: Path) -> bool:
    """True when the frame behind the last commit belongs to this round of the WAL and goes on from it.

    Frames of an earlier round have other salts. Those that an earlier killed or rolled back transaction left behind
    a later and shorter one have the same salts, but their checksums go on from another frame.
    """
    with wal.open("rb") as handle:
        head = _header(handle)
        if head is None:
            return False
        size = wal.stat().st_size
        place, checksum = _WAL_HEADER.size, head.checksum
        step = _FRAME_HEADER.size + head.page_size
        at = place
        while (frame := _frame(handle, at, head)) is not None:
            at += step
            if frame.is_commit and at <= size:
                place, checksum = at, frame.checksum
        return _goes_on(handle, place, head, checksum)


def _header(handle: BinaryIO) -> _Wal | None:
    data = handle.read(_WAL_HEADER.size)
    if len(data) < _WAL_HEADER.size:
        return None
    magic, _, page_size, _, salt_1, salt_2, sum_1, sum_2 = _WAL_HEADER.unpack(data)
    order = ">" if magic & 1 else "<"
    if magic & ~1 != _WAL_MAGIC or _summed(data[:24], order, (0, 0)) != (sum_1, sum_2):
        return None
    return _Wal(order, page_size, (salt_1, salt_2), (sum_1, sum_2))


def _frame(handle: BinaryIO, at: int, head: _Wal) -> _Frame | None:
    handle.seek(at)
    data = handle.read(_FRAME_HEADER.size)
    if len(data) < _FRAME_HEADER.size:
        return None
    _, pages_after_commit, salt_1, salt_2, sum_1, sum_2 = _FRAME_HEADER.unpack(data)
    if (salt_1, salt_2) != head.salts:
        return None
    return _Frame(data, pages_after_commit != 0, (sum_1, sum_2))


def _goes_on(handle: BinaryIO, at: int, head: _Wal, checksum: Checksum) -> bool:
    frame = _frame(handle, at, head)
    if frame is None:
        return False
    page = handle.read(head.page_size)
    if len(page) < head.page_size:
        return True  # killed between the two writes that make a frame
    # The checksum covers the first 8 bytes of the frame's header, and the page.
    return _summed(frame.header[:8] + page, head.order, checksum) == frame.checksum


def _summed(data: bytes, order: str, start: Checksum) -> Checksum:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}L", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second
