"""The workers of an inner main, at the end of a line to the process that forks them."""

from __future__ import annotations

import json
import os
import select
import socket
from contextlib import suppress
from dataclasses import dataclass

from crawling import zygote


class CrewLost(Exception):
    """The process that forks the workers is gone, or does not do what it is told; they die with us."""


@dataclass(frozen=True)
class Ended:
    """A worker ended: `code` is its exit code, or minus the signal that killed it."""

    slot: int
    pid: int
    code: int


class Crew:
    """Starts, counts and ends workers. To be hired while the process has one thread: it forks."""

    def __init__(self, work: zygote.Work) -> None:
        alive_here, self._alive = os.pipe()
        orders_here, self._orders = os.pipe()
        self._line, there = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._line.close()
            os.close(self._alive)
            os.close(self._orders)
            zygote.never_return(lambda: zygote.serve(there, alive_here, orders_here, work))
        there.close()
        os.close(alive_here)
        os.close(orders_here)
        self._wake_reading, self._wake_writing = os.pipe()
        os.set_blocking(self._wake_writing, False)
        self._unread = b""
        self.busy: set[int] = set()  # slots with a living worker

    def start(self, slot: int) -> None:
        """Start the worker of a slot."""
        self.busy.add(slot)
        self._say({"start": slot})

    def wake(self) -> None:
        """Let `ended` return; from any thread or signal handler."""
        with suppress(BlockingIOError):  # full of wakes that nobody heard yet
            os.write(self._wake_writing, b"!")

    def ended(self, wait_s: float) -> list[Ended]:
        """The workers that ended; waits for the first so long, or until woken. Raises CrewLost."""
        ready, _, _ = select.select([self._line, self._wake_reading], [], [], max(0.0, wait_s))
        if self._wake_reading in ready:
            os.read(self._wake_reading, 1024)
        if self._line not in ready:
            return []
        if not (part := self._line.recv(1 << 16)):
            raise CrewLost
        *lines, self._unread = (self._unread + part).split(b"\n")
        found = [Ended(**json.loads(line)) for line in lines]
        self.busy -= {one.slot for one in found}
        return found

    def dismiss(self) -> None:
        """Tell all workers to take nothing more; idle ones end at once."""
        os.close(self._orders)

    def kill(self) -> None:
        """End all workers that still live."""
        self._say({"kill": True})

    def close(self) -> None:
        """End the process that forks; for when no worker is left."""
        self._line.close()
        os.waitpid(self._pid, 0)

    def _say(self, what: dict[str, int]) -> None:
        try:
            self._line.sendall(json.dumps(what).encode() + b"\n")
        except OSError as error:
            raise CrewLost from error
