"""Announcing points of our own to a harness that may strike there (KILLTEST_MARK, a UNIX stream socket)."""

from __future__ import annotations

import os
import socket

PATH = os.environ.get("KILLTEST_MARK")


class Marks:
    """A process's connection to whoever listens for marks; costs nothing when nobody does."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def reach(self, name: str) -> None:
        """Announce a point and wait until we may go on; OSError when the listener is gone."""
        if not PATH:
            return
        # A connection that was kept may have been hung up meanwhile: then another one is made.
        if self._socket is None or not _told(self._socket, name):
            self.close()
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(PATH)
            _told(self._socket, name)

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()


def _told(listener: socket.socket, name: str) -> bool:
    """Whether the listener heard it and let us go on, with a whole line: what is left of one would answer the next."""
    try:
        listener.sendall(f"{name}\n".encode())
        while (heard := listener.recv(1024)) and not heard.endswith(b"\n"):
            pass
    except OSError:
        return False
    return bool(heard)
