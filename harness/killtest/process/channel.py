"""JSON lines over a stream socket: requests with replies, and events that may arrive at any time."""

import contextlib
import socket
import time
from collections import deque
from typing import Any

import msgspec

from killtest.errors import HarnessFailure, Refused

Message = dict[str, Any]
_SEND_DEADLINE_S = 10.0


class Channel:
    """One end of a conversation with the program called `peer`; the other end answers by `id`.

    `call` waits for one reply; what arrives meanwhile is kept in `events`, in order.
    """

    def __init__(self, connection: socket.socket, peer: str) -> None:
        """Take over `connection`; `peer` is the name that errors use."""
        self._connection = connection
        self.peer = peer
        self._buffer = b""
        self._replies: dict[int, Message] = {}
        self._last_id = 0
        self.events: deque[Message] = deque()
        self.is_closed = False

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._connection.fileno()

    def call(self, do: str, *, within_s: float = 10.0, **arguments: Any) -> Message:
        """Ask the peer to `do` something; its reply. HarnessFailure when it refuses, ends or is silent too long."""
        self._last_id += 1
        self.send({"id": self._last_id, "do": do, **arguments})
        ends_s = time.monotonic() + within_s
        while self._last_id not in self._replies:
            self._receive(ends_s, waiting_for=f"its answer to {do!r}")
        reply = self._replies.pop(self._last_id)
        if not reply.get("ok"):
            raise Refused(f"the {self.peer} refused {do!r}: {reply.get('error', reply)}")
        return reply

    def send(self, message: Message) -> None:
        """Send one message; HarnessFailure when the peer has gone or does not take it within ten seconds."""
        self._connection.settimeout(_SEND_DEADLINE_S)
        try:
            self._connection.sendall(msgspec.json.encode(message) + b"\n")
        except OSError as error:
            raise HarnessFailure(f"the {self.peer} is gone: {error}") from None

    def pump(self) -> None:
        """Take in what has arrived, without waiting; `is_closed` tells that the peer has ended."""
        self._connection.setblocking(False)
        try:
            data = self._connection.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
        self._take(data)

    def hang_up(self) -> None:
        """End the conversation from another thread: whoever waits here is woken, and hears that the peer has gone."""
        # Not close: the descriptor's number could be another file's before the waiting thread looks again.
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _receive(self, ends_s: float, waiting_for: str) -> None:
        left_s = ends_s - time.monotonic()
        if left_s <= 0:
            raise HarnessFailure(f"waited too long for the {self.peer}: {waiting_for}")
        self._connection.settimeout(left_s)
        try:
            data = self._connection.recv(1 << 20)
        except TimeoutError:
            return
        except OSError as error:
            raise HarnessFailure(f"the {self.peer} is gone ({error}); waited for {waiting_for}") from None
        if not data:
            self.is_closed = True
            raise HarnessFailure(f"the {self.peer} ended; waited for {waiting_for}")
        self._take(data)

    def _take(self, data: bytes) -> None:
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in filter(None, lines):
            message = msgspec.json.decode(line)
            if "id" in message:
                self._replies[message["id"]] = message
            else:
                self.events.append(message)
