"""Answers that go wrong on purpose: which are planned for which pages, and whose turn it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from .misdeeds import latency, redirect, reset, slow, status, truncate
from .misdeeds.spoiled import Spoiled

MisbehaviourKind = Literal["latency", "status", "reset", "truncate", "slow", "redirect"]

# What each kind has to be told.
_NEEDS: dict[MisbehaviourKind, str | None] = {
    "latency": "delay_s",
    "status": "status",
    "reset": None,
    "truncate": "at_bytes",
    "slow": "bytes_per_s",
    "redirect": "to",
}


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """One way to go wrong. ValueError where what its kind needs is not given.

    `delay_s` (latency) are the least and the most seconds; `status` (an error page) may come with `retry_after_s`;
    `at_bytes` (reset, truncate) is how much of the body is sent, None: not even the headers; `bytes_per_s` (slow) is
    the speed of the body; `to` (redirect) the path to go to.
    """

    kind: MisbehaviourKind
    at_bytes: int | None = None
    delay_s: tuple[float, float] | None = None
    status: int | None = None
    retry_after_s: int | None = None
    bytes_per_s: int | None = None
    to: str | None = None

    def __post_init__(self) -> None:
        need = _NEEDS[self.kind]
        if need is not None and getattr(self, need) is None:
            raise ValueError(f"{self.kind} needs {need} (docs/site-protocol.md says what it is)")

    def spoil(self, answer: bytes) -> Spoiled:
        """What is sent in place of that whole answer."""
        if self.status is not None:
            return status.spoil(answer, self.status, self.retry_after_s)
        if self.to is not None:
            return redirect.spoil(answer, self.to)
        if self.bytes_per_s is not None:
            return slow.spoil(answer, self.bytes_per_s)
        if self.kind == "truncate" and self.at_bytes is not None:
            return truncate.spoil(answer, self.at_bytes)
        return reset.spoil(answer, self.at_bytes)

    def wait_s(self, seed: int, path: str) -> float:
        """Seconds before the answer to `path` begins."""
        return 0.0 if self.delay_s is None else latency.delay_s(self.delay_s, seed, path)


@dataclass(slots=True, eq=False)
class Plan:
    """A misbehaviour at the pages of a pattern, `times` times for each of them (None: always)."""

    path: str
    misbehaviour: Misbehaviour
    times: int | None
    name: str
    done: Counter[str] = field(default_factory=Counter)

    @property
    def is_met(self) -> bool:
        """Whether any request has met it."""
        return bool(self.done)

    def is_due(self, path: str) -> bool:
        """Whether the next answer for `path` is to go wrong like this."""
        pattern = ".*".join(re.escape(part) for part in self.path.split("*"))
        has_left = self.times is None or self.done[path] < self.times
        return has_left and re.fullmatch(pattern, path, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Taken:
    """A misbehaviour that a request meets; `is_first`: it is the first one to meet what was planned as `name`."""

    misbehaviour: Misbehaviour
    name: str
    is_first: bool


class Misdeeds:
    """The misbehaviours that are planned. Of several for a page the one planned first that has turns left is taken.

    A delay and another misbehaviour may be met by the same request. `seed` is what drawn delays are made from.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._plans: list[Plan] = []

    def plan(self, path: str, misbehaviour: Misbehaviour, times: int | None, name: str | None = None) -> None:
        """From now on the pages of `path` (with `*` for any characters) go wrong, each `times` times (None: always)."""
        name = name or misbehaviour.kind
        self._plans = [one for one in self._plans if (one.path, one.name) != (path, name)]
        self._plans.append(Plan(path, misbehaviour, times, name))

    def forget(self, path: str) -> None:
        """What was planned for exactly that path or pattern is taken back."""
        self._plans = [one for one in self._plans if one.path != path]

    def take_delay(self, path: str) -> Taken | None:
        """The delay of the answer to `path`, counted as done."""
        return self._take(path, is_delay=True)

    def take(self, path: str) -> Taken | None:
        """The misbehaviour for the answer that is about to go out, counted as done."""
        return self._take(path, is_delay=False)

    def _take(self, path: str, is_delay: bool) -> Taken | None:
        for plan in self._plans:
            if (plan.misbehaviour.kind == "latency") is is_delay and plan.is_due(path):
                is_first = not plan.is_met
                plan.done[path] += 1
                return Taken(plan.misbehaviour, plan.name, is_first)
        return None
