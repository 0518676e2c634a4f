"""The fence: proof that every connection made before it has been accepted, and that dead ones are closed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gevent import socket
from gevent.event import Event

from .server import Server
from .traffic import Connection


@dataclass(frozen=True, slots=True)
class FenceReport:
    """Whether the fence passed: it got through, and connections whose client had closed are closed here too.

    `still_open` are the numbers of the connections that remain.
    """

    passed: bool
    still_open: list[int]


def fence(servers: Sequence[Server], deadline_s: float) -> FenceReport:
    """Connect to each own address, which queues behind all earlier clients; then wait for the dead to close.

    Waits at most `deadline_s` seconds and never raises because of the network.
    """
    deadline = time.monotonic() + deadline_s
    connections = servers[0].serving.traffic.connections  # the books of all
    passed = all(_pass_accept_queue(server, deadline) for server in servers)
    while passed and (dead := _first_dead(connections)) is not None:
        passed = dead.closed.wait(max(0.0, deadline - time.monotonic()))
    return FenceReport(passed, sorted(connections))


def _pass_accept_queue(server: Server, deadline: float) -> bool:
    accepted = Event()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        # Bound before it connects, so that the server knows the address when it accepts it.
        sock.bind((server.own_host, 0))
        server.fences[sock.getsockname()] = accepted
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            sock.connect((server.own_host, server.server_port))
        except OSError:
            server.fences.pop(sock.getsockname(), None)
            return False
        return bool(accepted.wait(max(0.0, deadline - time.monotonic())))


def _first_dead(connections: dict[int, Connection]) -> Connection | None:
    return next((conn for conn in connections.values() if conn.hung_up()), None)
