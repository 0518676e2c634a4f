"""Redirect: a 302 to another path, or round in a loop."""

from __future__ import annotations

from .spoiled import Spoiled, replaced

_FOUND = 302


def spoil(answer: bytes, to: str) -> Spoiled:
    """The way to `to`, which is a path of this site."""
    return Spoiled(replaced(answer, _FOUND, [f"Location: {to}"]))
