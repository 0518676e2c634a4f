"""Dying with another process, however it dies.

A pipe whose writing end only that process has: the kernel closes it at its death, kill -9 included. A thread that
waits for that end takes the process down at once. (Linux' PDEATHSIG follows the thread that started the process, so
it strikes when that thread ends.)
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

ORPHANED = 70
LATE = 1  # as for code that cannot be imported


def die_with(descriptor: int, hear: Callable[[bytes], None] = lambda _: None) -> None:
    """End this process when the other end of the pipe `descriptor` is closed; `hear` gets what is written into it."""
    threading.Thread(target=_wait, args=(descriptor, hear), name="lifeline", daemon=True).start()


@contextmanager
def tied(descriptor: int, longest_s: float = inf) -> Iterator[None]:
    """Until the block ends: end this process with the other end of the pipe, or when the block takes too long.

    The thread that does so is gone behind the block, so that the process may fork. Nothing is read from the pipe.
    """
    here, there = os.pipe()
    ends = select.poll()
    for one in (descriptor, here):
        ends.register(one, 0)  # that is, only for being hung up

    def wait() -> None:
        gone = [one for one, _ in ends.poll(None if longest_s == inf else longest_s * 1000)]
        if here not in gone:
            os._exit(ORPHANED if gone else LATE)

    thread = threading.Thread(target=wait, name="tie", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(there)
        thread.join()
        os.close(here)


def first_line(descriptor: int) -> tuple[bytes, bytes]:
    """Wait for a line; that line, and what came behind it already. Ends this process when the pipe is closed."""
    text = b""
    while b"\n" not in text:
        if not (part := os.read(descriptor, 1 << 16)):
            os._exit(ORPHANED)
        text += part
    line, _, rest = text.partition(b"\n")
    return line, rest


def _wait(descriptor: int, hear: Callable[[bytes], None]) -> None:
    while part := os.read(descriptor, 1024):
        hear(part)
    os._exit(ORPHANED)
