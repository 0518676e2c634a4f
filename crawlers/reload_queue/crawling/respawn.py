"""When the next worker of a slot starts: soon after a first death, later after one upon the other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

FIRST_S = 0.1
LONGEST_S = 5.0
SETTLED_S = 10.0  # a worker that lived for so long makes its slot's count start anew


@dataclass
class Respawns:
    """The slots without a worker. Seconds are of the monotonic clock."""

    _started_s: dict[int, float] = field(default_factory=dict)
    _short_lives: dict[int, int] = field(default_factory=dict)
    _due_s: dict[int, float] = field(default_factory=dict)

    def started(self, slot: int) -> None:
        """A worker of that slot starts now."""
        self._started_s[slot] = time.monotonic()
        self._due_s.pop(slot, None)

    def ended(self, slot: int) -> None:
        """The worker of that slot has ended."""
        now_s = time.monotonic()
        short = now_s - self._started_s.get(slot, now_s) < SETTLED_S
        lives = self._short_lives.get(slot, 0) + 1 if short else 1
        self._short_lives[slot] = lives
        self._due_s[slot] = now_s + min(FIRST_S * 2 ** min(lives - 1, 10), LONGEST_S)

    def due(self, waiting: set[int]) -> list[int]:
        """Slots whose time has come, without those of `waiting`."""
        now_s = time.monotonic()
        return [slot for slot, due_s in self._due_s.items() if due_s <= now_s and slot not in waiting]

    def next_s(self, waiting: set[int]) -> float:
        """When the next slot is due, without those of `waiting`; infinity if none will be."""
        return min((due_s for slot, due_s in self._due_s.items() if slot not in waiting), default=float("inf"))
