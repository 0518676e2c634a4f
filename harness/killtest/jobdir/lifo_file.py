"""A LIFO queue of queuelib 1.10 (LifoDiskQueue): a count of four bytes, then each record with its size behind it.

The count is written when the queue is closed. Until then it is that of the last clean close, or 0; and the file is
written through a buffer of 8 KiB, so that a kill may leave nothing of it, or half a record.
"""

import struct

from killtest.jobdir import record
from killtest.jobdir.plain_value import Undecodable, counted
from killtest.jobdir.stored import MOST_EMPTY, Finding, Stored, Then

_SIZE = struct.Struct(">L")
_HEADER = _SIZE.size
Span = tuple[int, int]


def read(data: bytes) -> Stored:
    """The queue in the file's bytes."""
    if len(data) < _HEADER:
        words = f"{len(data)} bytes, where a count of 4 is expected: opening it raises struct.error"
        return Stored("lifo", believed=None, opening="struct.error", findings=(Finding("lifo_header_missing", words),))
    (believed,) = _SIZE.unpack_from(data)
    spans = _from_the_end(data)
    findings = []
    if spans is None:
        spans = _from_the_start(data)
        torn = len(data) - (spans[-1][1] + _HEADER if spans else _HEADER)
        findings.append(_torn(torn, len(spans)))
    if believed != len(spans):
        findings.append(_differs(believed, len(spans)))
    cut = {span: data[slice(*span)] for span in spans}
    popped, then = _pop(data, believed)
    records = tuple(cut.values())
    pops = tuple(cut.get(span) or data[slice(*span)] for span in popped)
    return Stored("lifo", records, records, believed, pops, then, findings=tuple(findings))


def _torn(count: int, whole: int) -> Finding:
    words = f"{count} bytes behind {whole} whole records are no record: the size of the newest is read from them"
    return Finding("lifo_torn_record", words)


def _differs(believed: int, there: int) -> Finding:
    words = f"its header counts {believed}, and {counted(there, 'record')} {'is' if there == 1 else 'are'} there"
    if believed > there:
        return Finding("lifo_header_differs", f"{words}: a take behind the last raises OSError")
    left = f"the {there - believed} oldest are never" if believed else "none of them is ever"
    return Finding("lifo_header_differs", f"{words}: {left} taken")


def _from_the_end(data: bytes) -> list[Span] | None:
    """All records, found as the queue finds them; None when they do not end at the header."""
    spans: list[Span] = []
    end, empty = len(data), 0
    while end > _HEADER:
        start = _start(data, end)
        empty = empty + 1 if start == end - _HEADER else 0
        if start < _HEADER or empty > MOST_EMPTY:
            return None
        spans.append((start, end - _HEADER))
        end = start
    return spans[::-1]


def _from_the_start(data: bytes) -> list[Span]:
    """The whole records before a torn one: each tells itself where it ends, and its size must agree."""
    spans: list[Span] = []
    at = _HEADER
    while True:
        try:
            _, end = record.decode(data, at)
        except Undecodable:
            return spans
        if data[end : end + _HEADER] != _SIZE.pack(end - at):
            return spans
        spans.append((at, end))
        at = end + _HEADER


def _pop(data: bytes, count: int) -> tuple[list[Span], Then]:
    """What `count` pops give; a seek before the start of the file raises, at every further try again."""
    spans: list[Span] = []
    end, empty = len(data), 0
    for _ in range(count):
        start = _start(data, end)
        empty = empty + 1 if start == end - _HEADER else 0
        if start < 0 or empty > MOST_EMPTY:
            return spans, "raises"
        spans.append((start, end - _HEADER))
        end = start
    return spans, "empty"


def _start(data: bytes, end: int) -> int:
    """Where the record begins whose size stands before `end`; negative when that is before the file's start."""
    if end < _HEADER:
        return -1
    (size,) = _SIZE.unpack_from(data, end - _HEADER)
    return end - _HEADER - int(size)
