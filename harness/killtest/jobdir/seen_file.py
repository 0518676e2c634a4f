"""requests.seen: the fingerprints of all requests that were ever queued, each behind its length in two bytes.

It is appended to through a buffer of 8 KiB, so a kill loses up to 372 fingerprints and mostly leaves half of one. What
the next run appends stands behind that half.
"""

import re

import msgspec

from killtest.jobdir.stored import Finding

NAME = "requests.seen"
_LENGTH = 2
# A file that is full of zeros, as a power cut may leave it, is read as empty fingerprints.
_EMPTY = re.compile(rb"\0{2,}")


class Seen(msgspec.Struct, frozen=True):
    """The fingerprints that a resume knows: `count` records and the `distinct` ones, with `cut_bytes` behind them."""

    count: int = 0
    distinct: frozenset[bytes] = frozenset()
    cut_bytes: int = 0
    findings: tuple[Finding, ...] = ()


def read(data: bytes) -> Seen:
    """The fingerprints in the file's bytes, read as Scrapy 2.19 reads them: up to the first that is not whole."""
    found: list[bytes] = []
    at = empty = 0
    while at + _LENGTH <= len(data):
        zeros = _EMPTY.match(data, at)
        if zeros:
            run = (zeros.end() - at) // _LENGTH
            found.append(b"")
            empty += run - 1
            at += run * _LENGTH
            continue
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        if end > len(data):
            break
        found.append(data[at + _LENGTH : end])
        at = end
    return Seen(len(found) + empty, frozenset(found), len(data) - at, tuple(_findings(found, len(data), at)))


def _findings(found: list[bytes], size: int, end: int) -> list[Finding]:
    """What is wrong with records, each run of empty ones taken as one, that end before byte `end` of `size`."""
    usual, cut = len(found[0]) if found else 0, size - end
    odd = next((number for number, one in enumerate(found) if len(one) != usual or not one), len(found))
    behind = size - sum(_LENGTH + len(one) for one in found[:odd])
    # A write that was cut short leaves less than a record.
    if found and (odd < len(found) or cut >= _LENGTH + usual):
        lost = behind // (_LENGTH + usual)
        words = f"behind {odd} fingerprints {behind} bytes are misread: something was appended behind half a record"
        return [Finding("seen_misread", f"{words}; some {lost} fingerprints are not known any more", NAME)]
    if cut:
        words = f"{cut} bytes of a record behind {len(found)} whole ones: what is appended behind them is misread"
        return [Finding("seen_cut", f"{words} by every later run", NAME)]
    return []
