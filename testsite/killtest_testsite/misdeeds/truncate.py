"""Truncate: the connection closes early, as if all was well."""

from __future__ import annotations

from .spoiled import Spoiled, cut


def spoil(answer: bytes, at_bytes: int) -> Spoiled:
    """The answer ends behind so many bytes of its body."""
    return Spoiled(cut(answer, at_bytes), "closed")
