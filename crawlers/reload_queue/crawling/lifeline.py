"""Dying with another process, however it dies.

A pipe whose writing end only that process has: the kernel closes it at its death, kill -9 included. A thread that
waits for that end takes the process down at once. (Linux' PDEATHSIG follows the thread that started the process, so
it strikes when that thread ends.)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

ORPHANED = 70


def die_with(descriptor: int, hear: Callable[[bytes], None] = lambda _: None) -> None:
    """End this process when the other end of the pipe `descriptor` is closed; `hear` gets what is written into it."""
    threading.Thread(target=_wait, args=(descriptor, hear), name="lifeline", daemon=True).start()


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
