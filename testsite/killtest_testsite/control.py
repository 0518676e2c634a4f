"""The control channel: JSON lines over a UNIX socket, one client at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gevent
import msgspec
from gevent import socket
from gevent.queue import Queue
from gevent.server import StreamServer

from . import commands
from .desk import Desk
from .events import Event

_LINE_LIMIT_BYTES = 1 << 20

_encode = msgspec.json.Encoder().encode


class Channel:
    """Listens at a path, answers commands and passes events on. OSError when the path can't be had."""

    def __init__(self, path: str) -> None:
        self.desk: Desk | None = None
        self._path = Path(path)
        self._outbox: Queue[bytes | None] | None = None
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        self._path.chmod(0o600)
        listener.listen(8)
        self._server = StreamServer(listener, self._serve)

    def start(self, desk: Desk) -> None:
        """Accept a client from now on; `desk` carries out its commands."""
        self.desk = desk
        self._server.start()

    def close(self) -> None:
        """Stop, and take the socket file away."""
        self._server.stop(timeout=0)
        self._path.unlink(missing_ok=True)

    def emit(self, event: Event) -> None:
        """Tell the client; without one the event is lost, and nobody was there to miss it."""
        self._put(event)

    def _serve(self, sock: Any, _address: object) -> None:
        """Talk to a client until it hangs up; a second one at the same time is turned away."""
        if self._outbox is not None:
            sock.sendall(_line(_refusal(None, "another client is connected: this channel takes one")))
            return
        self._outbox = Queue()
        writer = gevent.spawn(_write, sock, self._outbox)
        try:
            self._read(sock)
        except OSError:
            pass
        finally:
            self._outbox = None
            writer.kill()

    def _read(self, sock: Any) -> None:
        with sock.makefile("rb") as lines:
            while line := lines.readline(_LINE_LIMIT_BYTES):
                if not line.endswith(b"\n"):
                    self._put(_refusal(None, f"a line of {_LINE_LIMIT_BYTES} bytes or cut off: dropped"))
                elif line.strip():
                    self._take(line)

    def _take(self, line: bytes) -> None:
        """Carry out one line; a command that waits does so in a greenlet of its own."""
        try:
            command = commands.parse(line)
        except ValueError as error:
            self._put(_refusal(commands.id_of(line), str(error)))
            return
        if Desk.waits(command):
            gevent.spawn(self._carry_out, command)
        else:
            self._carry_out(command)

    def _carry_out(self, command: commands.Command) -> None:
        assert self.desk is not None
        try:
            fields = self.desk.carry_out(command)
        except (ValueError, OSError) as error:
            self._put(_refusal(command.id, str(error)))
        else:
            self._put({"id": command.id, "ok": True, **fields})

    def _put(self, message: Any) -> None:
        if self._outbox is not None:
            self._outbox.put(_line(message))


def _refusal(number: int | None, error: str) -> dict[str, Any]:
    return {"id": number, "ok": False, "error": error}


def _line(message: Any) -> bytes:
    return _encode(message) + b"\n"


def _write(sock: Any, outbox: Queue[bytes | None]) -> None:
    """Send what is put into the outbox, in order, until the client is gone."""
    try:
        for line in outbox:
            sock.sendall(line)
    except OSError:
        pass
