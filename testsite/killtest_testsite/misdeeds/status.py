"""Status: an error page, if wanted with a Retry-After."""

from __future__ import annotations

from .spoiled import Spoiled, replaced


def spoil(answer: bytes, status: int, retry_after_s: int | None) -> Spoiled:
    """An error page with that status."""
    headers = [] if retry_after_s is None else [f"Retry-After: {retry_after_s}"]
    return Spoiled(replaced(answer, status, headers))
