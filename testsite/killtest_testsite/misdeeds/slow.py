"""Slow: the headers come at once, the body so many bytes a second."""

from __future__ import annotations

from collections.abc import Iterator

from .spoiled import Spoiled, body_at

_PIECES_A_SECOND = 10


def spoil(answer: bytes, bytes_per_s: int) -> Spoiled:
    """The whole answer, slowly."""
    return Spoiled(answer, bytes_per_s=bytes_per_s)


def pieces(data: bytes, bytes_per_s: int) -> Iterator[tuple[float, bytes]]:
    """The answer in pieces, each with the seconds to wait before it."""
    at, step = body_at(data), max(1, bytes_per_s // _PIECES_A_SECOND)
    yield 0.0, data[:at]
    while at < len(data):
        piece = data[at : at + step]
        yield len(piece) / bytes_per_s, piece
        at += step
