"""The moment a fault waits for, as far as the site can see it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TriggerKind = Literal["request", "response"]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The n-th page request of an incarnation, or with `path` the n-th for that path; n counts from 1.

    `request` strikes as it arrives, `response` as the last byte of its answer goes out.
    """

    kind: TriggerKind
    n: int
    path: str | None = None

    def strikes(self, path: str, n: int, path_n: int | None) -> bool:
        """Whether this is the request: its path, its number, and its number among those for its path."""
        if self.path is None:
            return n == self.n
        return path == self.path and path_n == self.n
