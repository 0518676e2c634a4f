"""Where the subject announces points of its own: a UNIX socket that takes a name per line and answers each.

A name that no fault waits for is answered at once. One that a fault waits for is answered when the fault has struck.
Whatever a subject does here, the post lives on and waits for nobody: it is the warden's.
"""

import errno
import resource
import selectors
import socket
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_LONGEST_NAME = 4096
_GO_ON = b"go on\n"
# Of a caller that does not fetch its answers no more is heard, so that they do not fill our memory.
_MOST_OWED = 1 << 20
# Descriptors that the warden needs besides: without one it could neither look at a process nor start one.
_RESERVED = 256
_UNLIMITED = 1 << 20
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_UCRED = struct.Struct("3i")


class _Caller:
    """One connection: what it has begun to say, what it is owed, and what becomes of it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.said = b""
        self.owed = bytearray()
        self.held = 0  # answers that wait for a fault to strike; those behind them wait as well
        self.has_ended = False  # it says no more, but may still be reading

    @property
    def events(self) -> int:
        """What to look out for: what it says, while it also reads its answers, and room for those."""
        hears = not self.has_ended and len(self.owed) < _MOST_OWED
        return (selectors.EVENT_READ if hears else 0) | (selectors.EVENT_WRITE if self.owed and not self.held else 0)


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
        # By descriptor, in the order in which they were last heard.
        self._callers: dict[int, _Caller] = {}
        self._counts: Counter[tuple[int | None, str]] = Counter()
        self._armed: tuple[tuple[int, str], int] | None = None

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return int(self._selector.fileno())

    def arm(self, incarnation: int, name: str, n: int) -> None:
        """Wait for the n-th announcement of `name` in that incarnation."""
        self._armed = ((incarnation, name), n)

    def disarm(self) -> None:
        """Wait for nothing; who is kept waiting stays so until `release`."""
        self._armed = None

    def release(self) -> None:
        """Answer whoever was kept waiting."""
        for caller in [one for one in self._callers.values() if one.held]:
            caller.owed += _GO_ON * caller.held
            caller.held = 0
            self._pay(caller)

    def close(self) -> None:
        """Hang up on everybody, and listen no more."""
        for caller in [*self._callers.values()]:
            self._hang_up(caller)
        self._selector.close()
        self._listener.close()

    def look(self) -> None:
        """Take in callers and what they say, and answer those that fetch their answers; never waits."""
        for key, events in self._selector.select(0):
            if key.fileobj is self._listener:
                self._accept()
                continue
            caller = self._callers.get(key.fd)
            if caller is None or caller.socket is not key.fileobj:
                continue  # hung up on a moment ago, for want of room
            if events & selectors.EVENT_READ:
                self._hear(caller)
            elif events & selectors.EVENT_WRITE:
                self._pay(caller)

    def _accept(self) -> None:
        if len(self._callers) >= _most_callers():
            self._make_room()
        try:
            connection, _ = self._listener.accept()
        except OSError as error:  # too many descriptors are open, here or in all, or who called has gone already
            if error.errno in _NO_ROOM:
                self._make_room()
            return
        connection.setblocking(False)
        caller = self._callers[connection.fileno()] = _Caller(connection)
        self._selector.register(connection, caller.events)

    def _make_room(self) -> None:
        """Hang up on the caller that has been idle longest; one that waits for a fault is not idle."""
        idle = next((one for one in self._callers.values() if not one.held), None)
        if idle is not None:
            self._hang_up(idle)

    def _hear(self, caller: _Caller) -> None:
        fd = caller.socket.fileno()
        self._callers[fd] = self._callers.pop(fd)
        try:
            data = caller.socket.recv(_LONGEST_NAME)
        except BlockingIOError:
            return
        except OSError:
            self._hang_up(caller)
            return
        *names, caller.said = (caller.said + data).split(b"\n")
        caller.has_ended = not data
        for name in names:
            if len(name) <= _LONGEST_NAME:
                self._announced(caller, name.decode("utf-8", "backslashreplace").strip())
        if max(map(len, [*names, caller.said])) > _LONGEST_NAME:
            self._hang_up(caller)
        else:
            self._pay(caller)

    def _announced(self, caller: _Caller, name: str) -> None:
        pid, _, _ = _UCRED.unpack(caller.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        announced = (self._incarnation_of(pid), name)
        self._counts[announced] += 1
        if self._armed != (announced, self._counts[announced]):
            caller.owed += _GO_ON
            return
        self._armed = None
        caller.held += 1
        self._due(name, self._counts[announced], pid)

    def _pay(self, caller: _Caller) -> None:
        """Send what the caller is owed as far as there is room for it; the rest when there is room again."""
        try:
            while caller.owed and not caller.held:
                del caller.owed[: caller.socket.send(caller.owed)]
        except BlockingIOError:
            pass
        except OSError:  # it is dead, or has hung up
            self._hang_up(caller)
            return
        if caller.has_ended and not caller.owed and not caller.held:
            self._hang_up(caller)
        else:
            self._watch(caller)

    def _watch(self, caller: _Caller) -> None:
        """Look out for what is to be looked out for: an end that was heard would be news for ever."""
        is_watched = caller.socket in self._selector.get_map()
        if not caller.events:
            if is_watched:
                self._selector.unregister(caller.socket)
        elif is_watched:
            self._selector.modify(caller.socket, caller.events)
        else:
            self._selector.register(caller.socket, caller.events)

    def _hang_up(self, caller: _Caller) -> None:
        del self._callers[caller.socket.fileno()]
        if caller.socket in self._selector.get_map():
            self._selector.unregister(caller.socket)
        caller.socket.close()


def _most_callers() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _UNLIMITED if limit == resource.RLIM_INFINITY else limit
    return max(limit - _RESERVED, limit // 2)


def path_in(folder: Path) -> Path:
    """Where a trial's mark post listens; short enough for a UNIX address (`sun_path` holds 108 bytes)."""
    return folder / "mark.sock"
