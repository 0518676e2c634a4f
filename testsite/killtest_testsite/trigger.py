"""The moment a fault waits for, as far as the site can see it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TriggerKind = Literal["request", "response", "partial"]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The n-th page request of an incarnation, or with `path` the n-th for that path; n counts from 1.

    `request` strikes as it arrives, `response` as the last byte of its answer goes out, `partial` when `at_bytes` of
    the body of its answer have gone out and no more. ValueError for a `partial` without a path or `at_bytes`.
    """

    kind: TriggerKind
    n: int
    path: str | None = None
    at_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "partial" and (self.path is None or self.at_bytes is None):
            raise ValueError("partial needs path and at_bytes (docs/site-protocol.md says what they are)")

    def strikes(self, path: str, n: int | None, path_n: int | None) -> bool:
        """Whether this is the request: its path, its number, and its number among those for its path."""
        if self.path is None:
            return n is not None and n == self.n
        return path == self.path and path_n == self.n
