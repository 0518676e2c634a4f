"""Answers that go wrong on purpose: cut short, or ended by a reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MisbehaviourKind = Literal["reset", "truncate"]


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """End the answer after `at_bytes` bytes of its body (None: before its first byte, headers included).

    `reset` breaks the connection with a TCP RST, `truncate` closes it as if all was well.
    """

    kind: MisbehaviourKind
    at_bytes: int | None = None

    def cut(self, answer: bytes) -> bytes:
        """What of an answer is sent: whole headers, then the first `at_bytes` of the body."""
        if self.at_bytes is None:
            return b""
        body_at = answer.index(b"\r\n\r\n") + 4
        return answer[: body_at + self.at_bytes]


class Misdeeds:
    """The misbehaviours that are planned, by path; each happens a number of times, or always."""

    def __init__(self) -> None:
        self._planned: dict[str, tuple[Misbehaviour, int | None]] = {}

    def plan(self, path: str, misbehaviour: Misbehaviour, times: int | None) -> None:
        """From now on answer `path` like this, `times` times (None: always); 0 takes it back."""
        if times == 0:
            self._planned.pop(path, None)
        else:
            self._planned[path] = (misbehaviour, times)

    def take(self, path: str) -> Misbehaviour | None:
        """The misbehaviour for the answer that is about to go out, counted as done."""
        planned = self._planned.get(path)
        if planned is None:
            return None
        misbehaviour, times = planned
        self.plan(path, misbehaviour, None if times is None else times - 1)
        return misbehaviour
