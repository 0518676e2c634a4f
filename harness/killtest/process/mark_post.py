"""Where the subject announces points of its own: a UNIX socket that takes a name per line and answers each.

A name that no fault waits for is answered at once. One that a fault waits for is answered when the fault has struck.
"""

import contextlib
import selectors
import socket
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_LONGEST_NAME = 4096
_GO_ON = b"go on\n"
_UCRED = struct.Struct("3i")


class MarkPost:
    """Listens at a path; `fileno` becomes readable when there is news, and `look` takes it in."""

    def __init__(
        self, path: Path, due: Callable[[str, int, int], None], incarnation_of: Callable[[int], int | None]
    ) -> None:
        """Call `due(name, n, pid)` at the armed mark; announcements are counted for each incarnation."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._listener.bind(str(path))
        self._listener.listen(128)
        self._due, self._incarnation_of = due, incarnation_of
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._callers: dict[int, tuple[socket.socket, bytes]] = {}
        self._waiting: list[socket.socket] = []
        self._counts: Counter[tuple[int | None, str]] = Counter()
        self._armed: tuple[tuple[int, str], int] | None = None

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return int(self._selector.fileno())

    def arm(self, incarnation: int, name: str, n: int) -> None:
        """Wait for the n-th announcement of `name` in that incarnation."""
        self._armed = ((incarnation, name), n)

    def disarm(self) -> None:
        """Wait for nothing, and answer whoever waits."""
        self._armed = None
        self.release()

    def release(self) -> None:
        """Answer whoever was kept waiting."""
        for caller in self._waiting:
            self._answer(caller)
        self._waiting.clear()

    def look(self) -> None:
        """Take in callers and what they say; never waits."""
        for key, _ in self._selector.select(0):
            if key.fileobj is self._listener:
                self._accept()
            else:
                self._hear(key.fd)

    def _accept(self) -> None:
        caller, _ = self._listener.accept()
        caller.setblocking(False)
        self._callers[caller.fileno()] = (caller, b"")
        self._selector.register(caller, selectors.EVENT_READ)

    def _hear(self, fd: int) -> None:
        caller, said = self._callers[fd]
        try:
            data = caller.recv(_LONGEST_NAME)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *names, rest = (said + data).split(b"\n")
        self._callers[fd] = (caller, rest)
        for name in names:
            self._announced(caller, name.decode("utf-8", "backslashreplace").strip())
        if not data or len(rest) > _LONGEST_NAME:
            self._hang_up(fd)

    def _announced(self, caller: socket.socket, name: str) -> None:
        pid, _, _ = _UCRED.unpack(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        announced = (self._incarnation_of(pid), name)
        self._counts[announced] += 1
        if self._armed != (announced, self._counts[announced]):
            self._answer(caller)
            return
        self._armed = None
        self._waiting.append(caller)
        self._due(name, self._counts[announced], pid)

    @staticmethod
    def _answer(caller: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is dead, or has hung up
            caller.sendall(_GO_ON)

    def _hang_up(self, fd: int) -> None:
        caller, _ = self._callers.pop(fd)
        self._selector.unregister(caller)
        if caller in self._waiting:
            self._waiting.remove(caller)
        caller.close()


def path_in(folder: Path) -> Path:
    """Where a trial's mark post listens; short enough for a UNIX address (`sun_path` holds 108 bytes)."""
    return folder / "mark.sock"
