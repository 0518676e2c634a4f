"""The members of a gzip file, also of one whose writer was killed in a member and then began a new one.

A member (RFC 1952) carries a checksum, so a whole one is known by itself. Behind a torn one the next start of a
whole member is looked for; only then is it known where the torn one ended, and what of it can be decompressed.
"""

import itertools
import zlib
from typing import NamedTuple

_MAGIC = b"\x1f\x8b\x08"
# Bytes fed at once, from the first time on: a member may be one short record, or all of a large file.
_LEAST, _MOST = 1 << 10, 1 << 18


class Member(NamedTuple):
    """What a member held; it starts at byte `start`, and the next one at byte `end`."""

    content: bytes
    start: int
    end: int
    is_whole: bool


def members(data: bytes) -> list[Member]:
    """All members in their order, torn ones with as much as could be decompressed of them."""
    found: list[Member] = []
    at = 0
    while at < len(data):
        if data[at] == 0 and not data[at:].strip(b"\0"):
            break  # padding, as tapes and block devices need it
        member = _inflated(data, at, len(data))
        if not member.is_whole:
            # Decompressing on into the next member would give rubbish: what is torn ends where that one starts.
            member = _inflated(data, at, _next_start(data, at + 1))
        found.append(member)
        at = member.end
    return found


def _next_start(data: bytes, at: int) -> int:
    """Where a whole member starts at `at` or later; before it, where a torn one does that gives something."""
    starts: list[int] = []
    start = data.find(_MAGIC, at)
    while start >= 0:
        starts.append(start)
        if _inflated(data, start, len(data)).is_whole:
            break
        start = data.find(_MAGIC, start + 1)
    else:
        starts.append(len(data))
    # Three bytes that look like a start by chance give nothing, and nor does a member torn in its first bytes.
    torn = (one for one, end in itertools.pairwise(starts) if _inflated(data, one, end).content)
    return next(torn, starts[-1])


def _inflated(data: bytes, start: int, end: int) -> Member:
    inflater = zlib.decompressobj(wbits=31)
    content = bytearray()
    at, size = start, _LEAST
    try:
        while at < end and not inflater.eof:
            fed = data[at : min(at + size, end)]
            content += inflater.decompress(fed)
            at, size = at + len(fed), min(2 * size, _MOST)
    except zlib.error:
        return Member(bytes(content), start, end, is_whole=False)
    if not inflater.eof:
        return Member(bytes(content), start, end, is_whole=False)
    return Member(bytes(content), start, at - len(inflater.unused_data), is_whole=True)
