"""Halt: how Ctrl-C in the main thread ends the trials that run in other threads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Halted(BaseException):
    """The campaign was told to end: this trial is not finished, and nothing of it is kept.

    Not an Exception: the trial boundary must not take it for a failure of ours and write a verdict.
    """


class Halt:
    """Told once to end; every trial that began under it is ended, and no other begins."""

    def __init__(self) -> None:
        """Nothing is to end yet."""
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._is_called = False

    def call(self) -> None:
        """End what runs: each registered `end` is called in this thread."""
        with self._lock:
            self._is_called = True
            for end in self._ends:
                end()

    def check(self) -> None:
        """Halted once `call` was called."""
        if self._is_called:
            raise Halted

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """While inside, `call` also calls `end`; Halted at once when it was called before."""
        with self._lock:
            self.check()
            self._ends.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)
