"""The fence's patience: with accept queues, and with connections whose client has gone but which are open here."""

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
def door(connections: dict[int, Any], host: str = "127.0.0.1") -> Iterator[Any]:
    """A server that lets fences through and has these connections; `listener` can be told to accept nobody."""
    fences: dict[Any, Event] = {}
    listener = StreamServer((host, 0), lambda _, address: fences.pop(address).set())
    listener.start()
    serving = SimpleNamespace(traffic=SimpleNamespace(connections=connections))
    facts = {"server_port": listener.server_port, "fences": fences, "serving": serving, "listener": listener}
    try:
        yield SimpleNamespace(own_host=host, **facts)
    finally:
        listener.stop()


def test_fence_waits_until_a_dead_connection_is_closed() -> None:
    connections: dict[int, Any] = {}
    dead = DeadConnection(connections)
    with door(connections) as server:
        gevent.spawn_later(0.02, dead.close)
        report = fence([server], deadline_s=10)
    assert (report.passed, report.still_open) == (True, [])


def test_fence_that_cannot_pass_says_so_at_its_deadline() -> None:
    connections: dict[int, Any] = {}
    DeadConnection(connections)
    with door(connections) as server:
        report = fence([server], deadline_s=0.05)
    assert (report.passed, report.still_open) == (False, [1])


def test_fence_passes_every_accept_queue() -> None:
    with door({}) as first, door({}, "127.0.0.2") as second:
        assert fence([first, second], deadline_s=10).passed
        assert first.fences == second.fences == {}
        second.listener.stop_accepting()
        assert not fence([first, second], deadline_s=0.05).passed
        gevent.spawn_later(0.02, second.listener.start_accepting)
        assert fence([first, second], deadline_s=10).passed
