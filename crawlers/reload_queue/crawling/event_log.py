"""Lines on stderr: one event a line, `[seconds] instance/process: what happened`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

Say = Callable[[str], None]


def speaker(who: str) -> Say:
    """A function that writes a line in the name of `who`. The seconds are of CLOCK_MONOTONIC."""

    def say(what: str) -> None:
        line = " ".join(what.split())  # a driver's error may have several lines
        # One write for a whole line, so that lines of many processes stay whole.
        with suppress(OSError):  # a full disk, or nobody who reads: no reason to end
            os.write(2, f"[{time.clock_gettime(time.CLOCK_MONOTONIC):.3f}] {who}: {line}\n".encode(errors="replace"))

    return say
