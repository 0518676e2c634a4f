"""The gate before every byte that leaves the site. While it is shut, a fault is due and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event


class Gate:
    """Open or frozen; opens by itself after `hold_s` seconds, so that a lost harness can't hang a crawl.

    `before_release` is called while the gate is still shut; `expired` after it has opened by itself.
    """

    def __init__(self, hold_s: float) -> None:
        self.frozen = False
        self.before_release: Callable[[], None] = _nothing
        self.expired: Callable[[], None] = _nothing
        self._hold_s = hold_s
        self._timer: Any = None
        self._waiting: set[Event] = set()

    def freeze(self) -> None:
        """Shut the gate. Shut again while shut, it is another fault's turn and the time starts anew."""
        self.frozen = True
        self._stop_timer()
        self._timer = gevent.get_hub().loop.timer(self._hold_s)
        self._timer.start(self._expire)

    def release(self) -> None:
        """Open the gate and wake whoever waits at it; harmless when it is open."""
        if not self.frozen:
            return
        self.before_release()
        self.frozen = False
        self._stop_timer()
        for event in self._waiting:
            event.set()

    def wait(self, event: Event) -> None:
        """Wait until the gate may have opened or somebody else sets `event`; look again afterwards."""
        self._waiting.add(event)
        try:
            event.wait()
        finally:
            self._waiting.discard(event)
            event.clear()

    def _expire(self) -> None:
        self.release()
        self.expired()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None


def _nothing() -> None:
    """What happens when nobody asked to be called."""
