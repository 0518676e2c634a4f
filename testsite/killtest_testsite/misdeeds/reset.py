"""Reset: the connection breaks with a TCP RST."""

from __future__ import annotations

from .spoiled import Spoiled, cut


def spoil(answer: bytes, at_bytes: int | None) -> Spoiled:
    """The answer breaks behind so many bytes of its body; None: before any byte, headers included."""
    return Spoiled(cut(answer, at_bytes), "reset")
