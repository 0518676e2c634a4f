"""A FIFO queue of queuelib 1.10 (FifoDiskQueue): chunks q00000, q00001, … of sized records, and info.json.

Records are appended by one system call each and never removed before their chunk is used up. How far it has been read
is in info.json alone, which is written when the queue is closed: behind a kill it is missing, or of an earlier time.
"""

import itertools
import json
import re
import struct
from collections.abc import Mapping
from typing import NamedTuple

from killtest.jobdir.plain_value import counted
from killtest.jobdir.stored import MOST_EMPTY, Finding, Stored, Then

INFO = "info.json"
_CHUNK = re.compile(r"q([0-9]{5,18})")
_SIZE = struct.Struct(">L")
_INT64 = 1 << 63


class Info(NamedTuple):
    """info.json: how many are queued, where reading goes on (chunk, record, byte) and writing (chunk, record)."""

    chunksize: int
    size: int
    tail: tuple[int, int, int]
    head: tuple[int, int]


def chunk_number(name: str) -> int | None:
    """The number of the chunk of that name; None when no chunk has such a name."""
    found = _CHUNK.fullmatch(name)
    return int(found[1]) if found and chunk_name(int(found[1])) == name else None


def chunk_name(number: int) -> str:
    """The name of a chunk."""
    return f"q{number:05d}"


def read(chunks: Mapping[int, bytes], info: bytes | None) -> Stored:
    """The queue in the bytes of its chunks, by number, and of its info.json; None where there is no such file."""
    framed = {number: _frames(data, 0) for number, data in sorted(chunks.items())}
    records = tuple(itertools.chain.from_iterable(found for found, _ in framed.values()))
    torn = [
        Finding("fifo_torn_record", f"{chunk_name(number)} ends in {cut} bytes of a record")
        for number, (_, cut) in framed.items()
        if cut
    ]
    if info is None:
        return _without_info(records, torn)
    try:
        known = _parse(info)
    except (ValueError, KeyError, RecursionError) as error:
        opening = type(error).__name__
        flaw = Finding("fifo_info_unreadable", f"info.json is damaged: opening the queue raises {opening}")
        return Stored("fifo", records, records, None, opening=opening, findings=(*torn, flaw))
    return _with_info(chunks, known, records, torn)


def _without_info(records: tuple[bytes, ...], torn: list[Finding]) -> Stored:
    words = f"{counted(len(records), 'record')} and no info.json: which have been taken can't be told, it counts 0"
    flaws = [*torn, Finding("fifo_no_info", words)] if records else torn
    return Stored("fifo", records, records, findings=tuple(flaws))


def _with_info(chunks: Mapping[int, bytes], info: Info, records: tuple[bytes, ...], torn: list[Finding]) -> Stored:
    pending = tuple(_pending(chunks, info))
    flaws = list(torn)
    missing = _missing_chunk(chunks, info)
    if missing is not None:
        flaws.append(Finding("fifo_chunk_missing", f"info.json reads {_place(info, missing)}, which is not there"))
    if info.tail[0] not in chunks and info.tail[0] != info.head[0]:
        return Stored("fifo", records, pending, None, opening="FileNotFoundError", findings=tuple(flaws))
    pops, then = _pop(chunks, info)
    there = len(chunks.get(info.tail[0], b""))
    skips = max(0, info.tail[2] - there)
    if info.size != len(pending) or then != "empty":
        words = f"info.json counts {info.size} and there are {len(pending)} records behind its position"
        flaws.append(Finding("fifo_info_differs", words))
    elif skips and missing is None:
        words = f"info.json reads {_place(info, info.tail[0])}, which has {there}"
        flaws.append(Finding("fifo_info_differs", words))
    return Stored("fifo", records, pending, info.size, tuple(pops), then, findings=tuple(flaws), skips=skips)


def _place(info: Info, number: int) -> str:
    at = info.tail[2] if number == info.tail[0] else 0
    return f"on from byte {at} of {chunk_name(number)}" if at else f"from {chunk_name(number)}"


def _frames(data: bytes, at: int) -> tuple[list[bytes], int]:
    """The whole records from byte `at` on, and how many bytes of another follow."""
    found: list[bytes] = []
    empty = 0
    while at + _SIZE.size <= len(data):
        (size,) = _SIZE.unpack_from(data, at)
        if at + _SIZE.size + size > len(data):
            break
        empty = 0 if size else empty + 1
        if empty > MOST_EMPTY:
            return found[:-MOST_EMPTY], len(data) - at + MOST_EMPTY * _SIZE.size
        found.append(data[at + _SIZE.size : at + _SIZE.size + size])
        at += _SIZE.size + size
    return found, max(0, len(data) - at)


def _parse(info: bytes) -> Info:
    """KeyError or ValueError when it is not what queuelib writes."""
    table = json.loads(info.decode())
    if not isinstance(table, dict):
        raise KeyError("chunksize")
    chunksize, size = _counts([table["chunksize"], table["size"]], 2)
    number, count, at = _counts(table["tail"], 3)
    head, written = _counts(table["head"], 2)
    return Info(chunksize, size, (number, count, at), (head, written))


def _counts(values: object, wanted: int) -> list[int]:
    if not isinstance(values, list) or len(values) != wanted:
        raise ValueError(f"{wanted} numbers are wanted")
    if not all(type(value) is int and 0 <= value < _INT64 for value in values):
        raise ValueError("a number is wanted")
    return values


def _pending(chunks: Mapping[int, bytes], info: Info) -> list[bytes]:
    number, _, at = info.tail
    first = _frames(chunks.get(number, b""), at)[0]
    return first + [one for other in sorted(chunks) if other > number for one in _frames(chunks[other], 0)[0]]


def _missing_chunk(chunks: Mapping[int, bytes], info: Info) -> int | None:
    """The first chunk that is still to be read and not there."""
    number = info.tail[0]
    while number in chunks:
        number += 1
    return number if number < info.head[0] or (number == info.tail[0] and (info.size or info.tail[2])) else None


def _pop(chunks: Mapping[int, bytes], info: Info) -> tuple[list[bytes], Then]:
    """What the queue gives until it counts itself empty, gives nothing any more, or raises for ever.

    Half a record is given as it is; half a size raises once, and nothing comes behind it.
    """
    (number, count, at), size = info.tail, info.size
    data = chunks.get(number, b"")
    given: list[bytes] = []
    empty = 0
    while size > 0:
        header = data[at : at + _SIZE.size]
        if (number, count) >= info.head or len(header) < _SIZE.size:
            return given, "stuck"
        (length,) = _SIZE.unpack(header)
        empty = 0 if length else empty + 1
        if empty > MOST_EMPTY:
            return given, "raises"
        given.append(data[at + _SIZE.size : at + _SIZE.size + length])
        count, at, size = count + 1, at + _SIZE.size + length, size - 1
        if count == info.chunksize and number <= info.head[0]:
            count, at, number = 0, 0, number + 1
            if number not in chunks:
                return given[:-1], "raises"  # the record is lost with the chunk
            data = chunks[number]
    return given, "empty"
