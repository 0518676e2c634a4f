"""The fence's patience with connections whose client has gone and which are not closed on our side yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import gevent
from gevent.event import Event
from gevent.server import StreamServer
from killtest_testsite.fence import fence


class DeadConnection:
    """A connection whose client has hung up, until it is closed here too."""

    def __init__(self, connections: dict[int, Any]) -> None:
        self._connections = connections
        self.closed = Event()
        connections[1] = self

    def hung_up(self) -> bool:
        return True

    def close(self) -> None:
        self._connections.clear()
        self.closed.set()


@contextmanager
def door(connections: dict[int, Any]) -> Iterator[Any]:
    """A server that lets fences through and has these connections."""
    fences: dict[Any, Event] = {}
    listener = StreamServer(("127.0.0.1", 0), lambda _, address: fences.pop(address).set())
    listener.start()
    traffic = SimpleNamespace(traffic=SimpleNamespace(connections=connections))
    try:
        yield SimpleNamespace(own_host="127.0.0.1", server_port=listener.server_port, fences=fences, serving=traffic)
    finally:
        listener.stop()


def test_fence_waits_until_a_dead_connection_is_closed() -> None:
    connections: dict[int, Any] = {}
    dead = DeadConnection(connections)
    with door(connections) as server:
        gevent.spawn_later(0.02, dead.close)
        report = fence(server, deadline_s=10)
    assert (report.passed, report.still_open) == (True, [])


def test_fence_that_cannot_pass_says_so_at_its_deadline() -> None:
    connections: dict[int, Any] = {}
    DeadConnection(connections)
    with door(connections) as server:
        report = fence(server, deadline_s=0.05)
    assert (report.passed, report.still_open) == (False, [1])
