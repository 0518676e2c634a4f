"""The HTTP server: gevent's, with every answer collected first and sent through the gate in one piece."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

from flask import Flask
from gevent import socket
from gevent.pywsgi import WSGIHandler, WSGIServer

from . import hooks
from .hooks import Delivery, Hooks
from .misbehaviour import Misdeeds, Taken
from .misdeeds import slow
from .misdeeds.spoiled import body_at
from .sockets import Address
from .traffic import Connection, Exchange, Traffic

# From this status on an answer says that nothing was done.
_NOT_DONE = 300
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)

# What gevent's handler returns when a request could not be read: the status and the whole answer.
_BAD_REQUEST = ("400", b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


@dataclass(frozen=True, slots=True)
class Serving:
    """What the handler of a connection needs: the books, the delay before each answer, planned misdeeds."""

    traffic: Traffic
    misdeeds: Misdeeds
    latency_s: float
    hooks: Hooks


class Handler(WSGIHandler):  # type: ignore[misc]
    """Serves one connection. Answers leave by `_transmit` alone, behind the gate."""

    def __init__(self, sock: Any, address: Address, server: Server, conn: Connection) -> None:
        super().__init__(sock, address, server)
        self._conn = conn
        self._serving = server.serving
        self._answer = bytearray()
        self._stop_at: int | None = None

    def handle(self) -> None:
        """Serve the connection until it closes; a connection that breaks is no error."""
        try:
            super().handle()
        except OSError:
            pass
        finally:
            self._serving.traffic.disconnect(self._conn)

    def handle_one_request(self) -> Any:
        """Read and answer one request; the refusal of a malformed one waits at the gate like any answer."""
        result = super().handle_one_request()
        if isinstance(result, tuple) and not self._may_send():
            return None
        return result

    def read_request(self, raw_requestline: str) -> bool:
        """Parse a request; gevent would also take HTTP/0.9, which is how junk that starts with GET looks."""
        if len(raw_requestline.split()) != 3:
            raise ValueError("not a request line")
        return bool(super().read_request(raw_requestline))

    def run_application(self) -> None:
        """The request has been read: log its arrival, wait for its turn, make the page, send it."""
        path = self.environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        traffic = self._serving.traffic
        delivery = self._take_delivery() if (self.command, path) == ("POST", hooks.PATH) else None
        exchange = traffic.arrive(self._conn, self.command, path, delivery)
        try:
            # The page is made after the wait, so that it shows a bump that came while it was held.
            if self._may_send(self._serving.latency_s) and self._dawdle(exchange):
                traffic.begin_answer(exchange)
                super().run_application()
                exchange.status = self.code
                self._send(exchange)
            else:
                self.close_connection = True
        finally:
            traffic.end(exchange, "broken")

    def _take_delivery(self) -> Delivery | None:
        """Read a webhook's body, before its request counts as arrived, and settle its answer.

        None when the client goes before the end of it: nothing has been delivered then.
        """
        try:
            delivery, size_bytes = hooks.read(self.wsgi_input.read, self.environ.get("HTTP_IDEMPOTENCY_KEY", ""))
        except OSError:
            self._conn.gone = True
            return None
        self.environ[hooks.RECEIPT] = self._serving.hooks.take(delivery, size_bytes)
        return delivery

    def log_request(self) -> None:
        """No access log: the request log knows more."""

    def handle_error(self, t: Any, v: Any, tb: Any) -> None:
        """A fault of our own: show it, and close the connection without an answer."""
        self._log_error(t, v, tb)
        self.close_connection = True

    def _handle_client_error(self, _error: Exception) -> tuple[str, bytes]:
        """Junk on the port is answered with 400, and is no reason for a message."""
        return _BAD_REQUEST

    def _sendall(self, data: bytes) -> None:
        """Collect what gevent would have sent piece by piece."""
        self._answer += data
        self.response_length += len(data)

    def _send(self, exchange: Exchange) -> None:
        """Send the collected answer, whole or as a planned misdeed wants it."""
        answer = bytes(self._answer)
        self._answer.clear()
        body_bytes = self._serving.traffic.stop_at(exchange)
        self._stop_at = None if body_bytes is None else body_at(answer) + body_bytes
        taken = self._serving.misdeeds.take(exchange.path)
        if taken is not None:
            self._spoil(exchange, taken, answer)
        elif self._transmit(exchange, answer):
            self._serving.traffic.answered(exchange)
        else:
            self.close_connection = True

    def _dawdle(self, exchange: Exchange) -> bool:
        """Wait as a planned delay wants it; False if the client went."""
        serving = self._serving
        taken = serving.misdeeds.take_delay(exchange.path)
        if taken is None:
            return True
        serving.traffic.misbehaved(exchange, taken.name, taken.is_first)
        return self._may_send(taken.misbehaviour.wait_s(serving.misdeeds.seed, exchange.path))

    def _spoil(self, exchange: Exchange, taken: Taken, answer: bytes) -> None:
        """Send what a planned misdeed makes of the answer, and end as it wants."""
        self._serving.traffic.misbehaved(exchange, taken.name, taken.is_first)
        spoiled = taken.misbehaviour.spoil(answer)
        if spoiled.data:
            exchange.status = int(spoiled.data.split(b" ", 2)[1])
        if exchange.hook is not None and exchange.status is not None and exchange.status >= _NOT_DONE:
            self._serving.hooks.take_back(exchange.hook, self.environ[hooks.RECEIPT])
        if spoiled.bytes_per_s is None:
            is_sent = self._transmit(exchange, spoiled.data)
        else:
            is_sent = self._trickle(exchange, spoiled.data, spoiled.bytes_per_s)
        if is_sent and spoiled.ending == "whole":
            self._serving.traffic.answered(exchange)
            return
        self.close_connection = True
        if spoiled.ending == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    def _trickle(self, exchange: Exchange, data: bytes, bytes_per_s: int) -> bool:
        """Send the headers, then the body slowly; False if the client went."""
        return all(
            self._may_send(delay_s) and self._transmit(exchange, piece)
            for delay_s, piece in slow.pieces(data, bytes_per_s)
        )

    def _transmit(self, exchange: Exchange, data: bytes) -> bool:
        """Hand bytes to the kernel, with a look at gate and client before each write; False if it went."""
        rest = memoryview(data)
        while rest and self._may_send():
            stop_bytes = len(rest) if self._stop_at is None else self._stop_at - exchange.bytes
            try:
                sent = os.write(self._conn.fd, rest[:stop_bytes])
            except BlockingIOError:
                socket.wait_write(self._conn.fd)
            else:
                exchange.bytes += sent
                rest = rest[sent:]
                if exchange.bytes == self._stop_at:
                    self._stop_at = None
                    self._serving.traffic.stopped(exchange)
        return not rest

    def _may_send(self, delay_s: float = 0) -> bool:
        """Wait `delay_s` and then as long as the gate is shut; False as soon as the client has hung up."""
        conn, traffic = self._conn, self._serving.traffic
        gate = traffic.gate
        if delay_s or gate.frozen:
            traffic.watch.watch(conn.fd, lambda: traffic.gone(conn))
            try:
                if delay_s:
                    conn.wake.wait(delay_s)
                while gate.frozen and not conn.gone:
                    gate.wait(conn.wake)
            finally:
                traffic.watch.forget(conn.fd)
        return not conn.gone and not conn.hung_up()


class Server(WSGIServer):  # type: ignore[misc]
    """Listens at one address, numbers the connections as they are accepted, and knows its own fence connections."""

    handler_class = Handler

    def __init__(self, listener: Any, app: Flask, serving: Serving) -> None:
        # SERVER_NAME given: gevent would ask the name service for it, and that may take seconds.
        environ = {"SERVER_NAME": listener.getsockname()[0]}
        super().__init__(listener, app, log=None, environ=environ)
        self.serving = serving
        self.fences: dict[Address, Any] = {}

    @property
    def own_host(self) -> str:
        """The address under which this machine reaches the server; a wildcard is reached by loopback."""
        host = str(self.server_host)
        return "127.0.0.1" if host == "0.0.0.0" else host

    def do_handle(self, *args: Any) -> None:
        """A connection has been accepted: number it at once, in the order of acceptance."""
        sock, address = args
        fence = self.fences.pop(address, None)
        if fence is not None:
            fence.set()
            sock.close()
            return
        super().do_handle(sock, address, self.serving.traffic.connect(sock.fileno(), address, sock.getsockname()))

    def handle(self, sock: Any, address: Address, conn: Connection) -> None:
        """Serve one connection: the body of its greenlet."""
        Handler(sock, address, self, conn).handle()
