"""Noticing that a client has hung up: a look at one socket, and a watch over the sockets that wait.

A send to a dead peer still succeeds, so the only honest way to say "the client was there" is to look first.
A half-closed client cannot be told from a dead one and counts as gone.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any

import gevent

# POLLRDHUP tells of the other side's FIN even while unread (pipelined) bytes lie before it.
_HANGUP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

# Without epoll (not Linux) the watch looks at its sockets on a timer.
_LOOK_EVERY_S = 0.02


class HangupLook:
    """Tells whether the client of one socket has hung up. Costs one system call and never waits."""

    __slots__ = ("_poll",)

    def __init__(self, fd: int) -> None:
        self._poll = select.poll()
        self._poll.register(fd, _HANGUP)

    def __call__(self) -> bool:
        """True once the peer has closed or reset the connection."""
        return bool(self._poll.poll(0))


class HangupWatch:
    """Calls back, once, when the client of a watched socket hangs up."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._poller: Any
        self._watcher: Any
        loop: Any = gevent.get_hub().loop
        if hasattr(select, "epoll"):
            # An epoll descriptor becomes readable when one of its sockets has news: no timer, no busy loop.
            self._poller = select.epoll()
            self._watcher = loop.io(self._poller.fileno(), 1)
        else:
            self._poller = select.poll()
            self._watcher = loop.timer(_LOOK_EVERY_S, repeat=_LOOK_EVERY_S)
        self._watcher.start(self.look)

    def watch(self, fd: int, callback: Callable[[], None]) -> None:
        """Call `callback` when the client of `fd` hangs up, until `forget`; it must not wait."""
        self._callbacks[fd] = callback
        self._poller.register(fd, _HANGUP)

    def forget(self, fd: int) -> None:
        """No longer watch `fd`; harmless when its call has been made already."""
        if self._callbacks.pop(fd, None) is not None:
            self._poller.unregister(fd)

    def look(self) -> None:
        """Make the calls that are due now. Called by the loop, and wherever the order of facts matters."""
        for fd, _ in self._poller.poll(0):
            callback = self._callbacks.get(fd)
            self.forget(fd)
            if callback is not None:
                callback()
