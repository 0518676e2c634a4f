"""Waiting for a queue that does not answer: which errors pass, how long to wait, and saying so once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import redis
from redis.exceptions import ClusterDownError, MasterDownError, TryAgainError

Result = TypeVar("Result")

FIRST_S = 0.1
LONGEST_S = 2.0
# Answers of a server that is there but cannot work at the moment: still loading, disk full, out of memory, a
# script that runs too long, a replica or a cluster that is being rearranged.
PASSING = ("LOADING", "MISCONF", "OOM", "BUSY", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN")
# The client cuts the code off the texts of these.
PASSING_KINDS = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.OutOfMemoryError,
    redis.ReadOnlyError,
    MasterDownError,
    TryAgainError,
    ClusterDownError,
)


class GivenUp(Exception):
    """The queue did not answer for as long as the caller wanted to wait; the text says why."""


def passes(error: redis.RedisError) -> bool:
    """Whether an error may go away by itself."""
    return isinstance(error, PASSING_KINDS) or str(error).startswith(PASSING)


def delay_s(failures: int) -> float:
    """How long to wait after so many failures in a row: doubled each time, with jitter so that not all come at once."""
    return min(LONGEST_S, FIRST_S * 2 ** min(failures - 1, 10)) * random.uniform(0.5, 1.0)


@dataclass
class Outage:
    """Knows whether the queue answers, and says once per outage that it does not and that it does again."""

    url: str
    say: Callable[[str], object] = lambda _: None
    failures: int = field(default=0, init=False)

    def failed(self, error: redis.RedisError) -> float:
        """Count a failure; the seconds to wait before the next attempt. Raises `error` if that does not pass."""
        if not passes(error):
            raise error
        if not self.failures:
            self.say(f"queue {self.url} does not answer ({error}); trying again")
        self.failures += 1
        return delay_s(self.failures)

    def answered(self) -> None:
        """Note that the queue answers."""
        if self.failures:
            self.say(f"queue {self.url} answers again")
        self.failures = 0


def insist(
    attempt: Callable[[], Result],
    outage: Outage,
    *,
    until: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], object] = time.sleep,
) -> Result:
    """Try until the queue answers. Raises GivenUp when `until` says so after a failure."""
    while True:
        try:
            result = attempt()
        except redis.RedisError as error:
            wait_s = outage.failed(error)
            if until():
                raise GivenUp(str(error)) from error
            sleep(wait_s)
        else:
            outage.answered()
            return result
