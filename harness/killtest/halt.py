"""Halt: how Ctrl-C in the main thread ends the trials that run in other threads."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Got = TypeVar("Got")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

    @contextmanager
    def side_by_side(self, jobs: int, calls: Iterable[Callable[[], Got]]) -> Iterator[list[Future[Got]]]:
        """The calls, each under this halt, in `jobs` threads; what leaves the block early ends them, Ctrl-C above all.

        None of them runs on behind the block.
        """
        pool = ThreadPoolExecutor(jobs)
        try:
            with _signals_later():
                futures = [pool.submit(call) for call in calls]
            yield futures
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self.call()
            raise
        finally:
            pool.shutdown()


@contextmanager
def _signals_later() -> Iterator[None]:
    """What ends the command is heard at the end of the block: a thread whose start it breaks off is known to nobody."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for one in came:
            signal.raise_signal(one)
