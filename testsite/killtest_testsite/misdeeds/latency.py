"""Latency: the answer begins later, always by the same time or by one drawn for the page."""

from __future__ import annotations

from ..catalogue import fingerprint


def delay_s(bounds_s: tuple[float, float], seed: int, path: str) -> float:
    """Seconds to wait at `path`: the same for every request and every shop of that seed, spread evenly over pages."""
    low_s, high_s = bounds_s
    share = int.from_bytes(fingerprint(seed, 0, f"latency {path}")[:8]) / 2**64
    return low_s + (high_s - low_s) * share
