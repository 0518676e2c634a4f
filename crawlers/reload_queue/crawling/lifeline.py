"""Dying with another process, however it dies.

A pipe whose writing end only that process has: the kernel closes it at its death, kill -9 included. A thread that
waits for that end takes the process down at once. (Linux' PDEATHSIG follows the thread that started the process, so
it strikes when that thread ends.)
"""

from __future__ import annotations

import os
import threading

ORPHANED = 70


def die_with(descriptor: int) -> None:
    """End this process when the other end of the pipe `descriptor` is closed."""
    threading.Thread(target=_wait, args=(descriptor,), name="lifeline", daemon=True).start()


def _wait(descriptor: int) -> None:
    while os.read(descriptor, 1024):
        pass
    os._exit(ORPHANED)
