"""A command's or a view's conversation with the queue, which waits for it for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from django.core.management.base import CommandError

from crawling import patience
from crawling.task_queue import TaskQueue, connect

Result = TypeVar("Result")


class Ask(Protocol):
    """Does something with the queue and repeats it while the queue does not answer."""

    def __call__(self, attempt: Callable[[], Result]) -> Result:
        """Raises CommandError when the time is over."""


@contextmanager
def session(url: str, wait_s: float, say: Callable[[str], object]) -> Iterator[tuple[TaskQueue, Ask]]:
    """The queue at `url`, and a way to ask it that gives up `wait_s` after the session began."""
    queue = TaskQueue(connect(url))
    outage = patience.Outage(queue.address, say)
    deadline_s = time.monotonic() + wait_s

    def ask(attempt: Callable[[], Result]) -> Result:
        try:
            return patience.insist(attempt, outage, until=lambda: time.monotonic() >= deadline_s)
        except patience.GivenUp as error:
            text = f"queue {queue.address} did not answer within {wait_s:g} s ({error}); is the server running there?"
            raise CommandError(text, returncode=1) from error

    try:
        yield queue, ask
    finally:
        queue.client.close()
