"""The addresses that the site answers on: 127.0.0.1, 127.0.0.2, … with one port, and a server at each."""

from __future__ import annotations

import errno
import sys
from typing import Any

from flask import Flask
from gevent import socket

from .server import Server, Serving
from .sockets import FIRST_HOST, Address

MOST = 16
# A port that is free on the first address may be taken on another: so often another one is asked for.
_TRIES = 20
_BACKLOG = 1024


def check(host: str, addresses: int) -> None:
    """ValueError for a number of addresses that can't be had here."""
    if not 1 <= addresses <= MOST:
        raise ValueError(f"--addresses {addresses}: give 1 to {MOST}, for 127.0.0.1 to 127.0.0.{MOST}")
    if addresses > 1 and host != FIRST_HOST:
        raise ValueError(f"--addresses {addresses} counts from 127.0.0.1: leave out --host {host}")
    if addresses > 1 and not sys.platform.startswith("linux"):
        raise ValueError(f"--addresses {addresses}: only Linux answers on all of 127/8; here it is --addresses 1")


def open_doors(host: str, port: int, addresses: int, app: Flask, serving: Serving) -> tuple[Server, ...]:
    """Servers that accept connections on so many addresses from `host` on; port 0 is one that is free on all of them.

    They share `serving`, and with it the books. OSError when an address or port can't be had.
    """
    listeners = _listeners([host] if addresses == 1 else [f"127.0.0.{i}" for i in range(1, addresses + 1)], port)
    servers = tuple(Server(listener, app, serving) for listener in listeners)
    for server in servers:
        server.start()
    return servers


def _listeners(hosts: list[str], port: int) -> list[Any]:
    for _ in range(_TRIES - 1):
        try:
            return _bound(hosts, port)
        except OSError as error:
            if port or error.errno != errno.EADDRINUSE:
                raise
    return _bound(hosts, port)


def _bound(hosts: list[str], port: int) -> list[Any]:
    """A listening socket at each host; the first one's port, which may be any free one, is that of all."""
    bound: list[Any] = []
    try:
        for host in hosts:
            bound.append(listener((host, port)))
            port = bound[0].getsockname()[1]
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def listener(address: Address) -> Any:
    """A socket that listens at `address`; OSError, which names the address, when it can't be had."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"{error.strerror}: {address[0]}:{address[1]}") from None
    return sock
