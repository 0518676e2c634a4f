"""The process that forks the workers: one thread, everything imported, nothing opened.

A fork takes some milliseconds where a start of Python with all its imports takes a quarter of a second of a
processor, which 24 workers feel. The inner main itself has threads, and a process with threads must not fork.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

# Does the work of a slot: (slot, pipe that dies with the main, pipe that says to stop).
Work = Callable[[int, int, int], None]

ORDERLY = 75  # not 0: a page that calls exit() has killed its worker
BROKEN = 1


def serve(line: socket.socket, alive: int, orders: int, work: Work) -> NoReturn:
    """Fork a worker for each `start` on the line, kill them at `kill`, report their ends; end with the line."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_IGN)  # the main decides who ends when
    gc.freeze()  # what is here already stays shared with the workers
    Zygote(line, lambda slot: work(slot, alive, orders)).run()


class Zygote:
    """The forking process at work."""

    def __init__(self, line: socket.socket, work: Callable[[int], None]) -> None:
        self.line, self.work = line, work
        self.slots: dict[int, int] = {}  # by process number
        self._unread = b""
        self._woken, self._waker = os.pipe()
        for descriptor in (self._woken, self._waker):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def run(self) -> NoReturn:
        """Listen to the line until it ends."""
        while True:
            ready, _, _ = select.select([self.line, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 1024)
            self._report()
            if self.line in ready:
                for order in self._orders():
                    self._obey(order)

    def _orders(self) -> list[dict[str, int]]:
        if not (part := self.line.recv(1 << 16)):
            self._kill()
            os._exit(0)
        *told, self._unread = (self._unread + part).split(b"\n")
        return [json.loads(order) for order in told]

    def _obey(self, order: dict[str, int]) -> None:
        if "kill" in order:
            self._kill()
        elif (pid := os.fork()) == 0:
            never_return(lambda: self._become(order["start"]))
        else:
            self.slots[pid] = order["start"]

    def _become(self, slot: int) -> None:
        """In the forked process: let go of what is the zygote's, and be the worker of a slot."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (self.line.detach(), self._woken, self._waker):
            os.close(descriptor)
        self.work(slot)

    def _kill(self) -> None:
        for pid in self.slots:  # none of them was waited for yet, so the number is still theirs
            os.kill(pid, signal.SIGKILL)

    def _report(self) -> None:
        while self.slots:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            told = {"slot": self.slots.pop(pid), "pid": pid, "code": os.waitstatus_to_exitcode(status)}
            with suppress(OSError):  # the main is gone; the next look at the line ends us
                self.line.sendall(json.dumps(told).encode() + b"\n")


def never_return(run: Callable[[], None]) -> NoReturn:
    """The life of a forked process: whatever is raised must not get into the code of the one it was forked from."""
    code = BROKEN
    try:
        run()
        code = ORDERLY
    finally:
        if code == BROKEN:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(code)
