"""Noticing that a client has hung up: a look at one socket, and a watch over the sockets that wait.

A send to a dead peer still succeeds, so the only honest way to say "the client was there" is to look first.
A client that has closed only its sending side (a FIN, and it waits for the answer) looks like a dead one on our
socket; its own socket, which is on this machine, tells the two apart: that of a dead process belongs to nobody.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from typing import Any

import gevent

from . import sockets

# POLLRDHUP tells of the other side's FIN even while unread (pipelined) bytes lie before it.
_HANGUP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

# Without epoll (not Linux) the watch looks at its sockets on a timer.
_LOOK_EVERY_S = 0.02


class HangupLook:
    """Tells whether the client of one socket has hung up. Costs one system call and never waits."""

    __slots__ = ("_fd", "_poll")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, _HANGUP)

    def __call__(self) -> bool:
        """True once the peer has closed or reset the connection; false while it has closed its sending side only."""
        return any(is_gone(fd, news) for fd, news in self._poll.poll(0))


def is_gone(fd: int, news: int) -> bool:
    """Whether what poll says of a connected TCP socket means that its client can't read an answer any more."""
    return bool(news & (select.POLLHUP | select.POLLERR)) or not _peer_holds_on(fd)


def _peer_holds_on(fd: int) -> bool:
    """Whether a process still holds the other end of the socket (its line in /proc/net/tcp has an inode)."""
    with socket.socket(fileno=os.dup(fd)) as ours:
        return sockets.inode(ours.getpeername(), ours.getsockname()) is not None


class HangupWatch:
    """Calls back, once, when the client of a watched socket hangs up."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._half_closed: set[int] = set()
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
        self._half_closed.discard(fd)
        if self._callbacks.pop(fd, None) is not None:
            self._poller.unregister(fd)

    def look(self) -> None:
        """Make the calls that are due now. Called by the loop, and wherever the order of facts matters."""
        for fd, news in self._poller.poll(0):
            if is_gone(fd, news):
                self._call(fd)
            else:
                # Its FIN has been read: from now on poll would tell of it for ever.
                self._poller.modify(fd, 0)
                self._half_closed.add(fd)
        # Nothing on our side tells when a half-closed client dies.
        for fd in [fd for fd in self._half_closed if is_gone(fd, 0)]:
            self._call(fd)

    def _call(self, fd: int) -> None:
        callback = self._callbacks.get(fd)
        self.forget(fd)
        if callback is not None:
            callback()
