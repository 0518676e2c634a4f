"""Several workers in processes of their own: started, replaced when they die, and ended by their parent.

The parent only watches; the store tells the workers what to do. A worker is this same program with CRAWL_WORKER in
its environment. Its standard input is a pipe from the parent, and that one's end is the worker's: nobody is left
behind, whatever the parent died of (PR_SET_PDEATHSIG would do it on Linux alone, and follows a thread).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WORKER = "CRAWL_WORKER"
PASSED_ON = (signal.SIGINT, signal.SIGTERM)
GRACE_S = 2.0  # from a signal that was passed on to SIGKILL; a worker that is paused takes no other
SHORT_LIFE_S = 1.0  # who dies sooner is replaced only then: no loop of starts
MOST_SHORT_LIVES = 50  # in a row: it is not the pages that they die of, those the frontier gives up before


def is_worker() -> bool:
    """Whether this process was started by `Processes`."""
    return WORKER in os.environ


def end_with_parent() -> None:
    """In a worker: end at once when the parent has. The page at hand comes back when its lease runs out."""

    def watch() -> None:
        os.read(0, 1)
        os._exit(0)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


class Processes:
    """The workers of one parent; one that is killed is replaced."""

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        """Nobody is started yet."""
        self._count, self._say = count, say
        self._workers: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._due_s: list[float] = []  # when those that died are to be replaced
        self._short_lives = 0

    def run(self) -> int:
        """Keep so many workers until they find nothing left; the exit code: 0, or that of a worker that can't go on.

        SIGTERM and SIGINT are passed on; once all have ended, this process dies of that signal too.
        """
        with listening() as heard:
            for _ in range(self._count):
                self._start()
            while self._workers or self._due_s:
                for signum in heard(self._pause_s()):
                    if signum in PASSED_ON:
                        self._stop(signum)
                while (ended := self._reaped()) is not None:
                    code = self._judge(*ended)
                    if code:
                        self._end(signal.SIGTERM)
                        return code
                self._replace()
        return 0

    def _start(self) -> None:
        words = [sys.executable, *sys.orig_argv[1:]]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, WORKER: "1"})
        self._workers[process.pid] = process, time.monotonic()

    def _pause_s(self) -> float | None:
        """How long there is nothing to do but to listen; None: until a signal comes."""
        return max(0.0, min(self._due_s) - time.monotonic()) if self._due_s else None

    def _reaped(self) -> tuple[int, int, float] | None:
        """A worker that has ended: pid, exit code (negative: the signal it died of), seconds it lived."""
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        process, began_s = self._workers.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.stdin is not None:
            process.stdin.close()
        return pid, process.returncode, time.monotonic() - began_s

    def _judge(self, pid: int, code: int, lived_s: float) -> int:
        """What the end of a worker means: 0 to go on (it found nothing left, or is replaced), else our exit code."""
        if code >= 0:
            return code  # its own decision: to start it again would change nothing
        self._short_lives = self._short_lives + 1 if lived_s < SHORT_LIFE_S else 0
        if self._short_lives > MOST_SHORT_LIVES:
            self._say(f"cannot go on: workers keep dying, the last one of {signal.Signals(-code).name}")
            return os.EX_SOFTWARE
        self._say(f"worker {pid} died of {signal.Signals(-code).name}; another takes its place")
        self._due_s.append(time.monotonic() + max(0.0, SHORT_LIFE_S - lived_s))
        return 0

    def _replace(self) -> None:
        now_s = time.monotonic()
        for due_s in [due_s for due_s in self._due_s if due_s <= now_s]:
            self._due_s.remove(due_s)
            self._start()

    def _stop(self, signum: int) -> None:
        """Pass the signal on, and die of it as whoever sent it expects."""
        self._end(signum)
        self._say(f"stopped by {signal.Signals(signum).name}; start it again to go on")
        signal.signal(signum, signal.SIG_DFL)
        signal.raise_signal(signum)

    def _end(self, signum: int) -> None:
        """Signal all workers and wait until they are dead."""
        for process, _ in self._workers.values():
            process.send_signal(signum)
        ends_s = time.monotonic() + GRACE_S
        for process, _ in self._workers.values():
            try:
                process.wait(max(0.0, ends_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def listening() -> Iterator[Callable[[float | None], bytes]]:
    """Inside, signals are bytes in a pipe: none is missed, whenever it comes, and waiting costs nothing.

    The function waits for so many seconds at most (None: for ever) and returns the numbers of those that came.
    """
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    before = {signum: signal.signal(signum, lambda *_: None) for signum in (signal.SIGCHLD, *PASSED_ON)}
    try:
        yield lambda longest_s: os.read(heard, 512) if select.select([heard], [], [], longest_s)[0] else b""
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        signal.set_wakeup_fd(-1)
        os.close(heard)
        os.close(told)
