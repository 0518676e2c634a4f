"""What a worker is told by its main: to stop. A pipe that the main closes says so to all its workers at once."""

from __future__ import annotations

import select
import signal
from types import FrameType


class Orders:
    """The worker's ear: the reading end of the pipe, and its own SIGTERM."""

    def __init__(self, descriptor: int) -> None:
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._terminated = False

    def listen(self) -> None:
        """From now on SIGTERM means: finish the page, take no other. Ctrl-C is the main's affair."""
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def stopped(self) -> bool:
        """Whether to take no other page."""
        return self.stopped_within(0.0)

    def stopped_within(self, wait_s: float) -> bool:
        """Wait so long, or until told to stop; whether that came."""
        return self._terminated or bool(self._poll.poll(wait_s * 1000))

    def _terminate(self, _signum: int, _frame: FrameType | None) -> None:
        self._terminated = True
