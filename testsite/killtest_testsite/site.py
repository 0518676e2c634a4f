"""The running site: its parts put together, started, and ended."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

import gevent
import msgspec
from gevent.event import Event as Moment

from .catalogue import Catalogue
from .control import Channel
from .desk import Desk
from .doors import open_doors
from .events import Event
from .gate import Gate
from .hooks import Hooks
from .layout import Layout
from .misbehaviour import Misdeeds
from .requestlog import RequestLog
from .server import Serving
from .shop import create_app
from .stock import Stock
from .traffic import Traffic

_STDIN = 0


@dataclass(frozen=True, slots=True)
class Options:
    """How to run the site; the command line's options in units that say what they are."""

    layout: Layout
    seed: int = 1
    latency_s: float = 0.0
    host: str = "127.0.0.1"
    port: int = 0
    addresses: int = 1
    control: str | None = None
    log: str | None = None
    hold_s: float = 5.0


class Site:
    """A site that listens. OSError when the port, the control socket or the log can't be had."""

    def __init__(self, options: Options) -> None:
        self.ended = Moment()
        self._options = options
        self._stock = Stock(Catalogue(options.seed, options.layout.products), options.layout)
        self._log = RequestLog(options.log)
        self._traffic = Traffic(self._stock, Gate(options.hold_s), self._log, self._emit, time.monotonic)
        serving = Serving(self._traffic, Misdeeds(options.seed), options.latency_s, Hooks())
        app = create_app(self._stock)
        self._servers = open_doors(options.host, options.port, options.addresses, app, serving)
        self._channel = None if options.control is None else Channel(options.control)

    def run(self) -> None:
        """Say that it is ready; serve until Ctrl-C, SIGTERM or (with a control channel) the end of stdin."""
        gevent.spawn(self._log.keep_flushing)
        gevent.signal_handler(signal.SIGINT, self.ended.set)
        gevent.signal_handler(signal.SIGTERM, self.ended.set)
        if self._channel is not None:
            self._channel.start(Desk(self._servers, self._stock))
            gevent.spawn(self._watch_stdin)
        self._say_ready()
        try:
            self.ended.wait()
        finally:
            self._close()

    def _say_ready(self) -> None:
        urls = [f"http://{server.own_host}:{server.server_port}" for server in self._servers]
        ready = {
            "schema": 1,
            "ready": True,
            "url": urls[0],
            "urls": urls,
            "pid": os.getpid(),
            "minimum": self._options.layout.minimum,
        }
        sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
        sys.stdout.flush()

    def _watch_stdin(self) -> None:
        """End with whoever holds the other end of standard input."""
        try:
            while True:
                gevent.socket.wait_read(_STDIN)
                if not os.read(_STDIN, 4096):
                    break
        except OSError:
            sys.stderr.write("killtest site: standard input is not open, so --control ends at once\n")
        self.ended.set()

    def _close(self) -> None:
        # The log first: requests still open end as `open`, not as broken by our own end.
        try:
            self._traffic.sync()
        except OSError as error:
            sys.stderr.write(f"killtest site: the end of the request log is lost: {error}\n")
        self._log.close()
        for server in self._servers:
            server.stop(timeout=0)
        if self._channel is not None:
            self._channel.close()

    def _emit(self, event: Event) -> None:
        if self._channel is not None:
            self._channel.emit(event)


def allow_many_connections() -> None:
    """Raise the limit of open files as far as this process may, for clients that hold many connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems refuse their own hard limit; the soft one then has to do.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
