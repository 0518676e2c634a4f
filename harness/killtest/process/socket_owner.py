"""Whose socket it is: the process that holds one end of a TCP connection, and the ports that a process listens on."""

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

import msgspec
import psutil

from killtest.process.process_tree import Identity, identify

# An IPv4 host and a port.
Address = tuple[str, int]
# What stands before an IPv4 host in the address of an IPv6 socket that is connected to one.
_MAPPED = bytes(10) + b"\xff\xff"


class Ends(msgspec.Struct, frozen=True):
    """The two ends of a TCP connection to the site. On several addresses of it a client may have the same port."""

    client: Address
    site: Address


def owner(ends: Ends, among: Iterable[Identity]) -> Identity | None:
    """The process that holds the client's end of that connection; None when nobody of them does.

    Of several that inherited it the youngest: a parent that forks workers does not fetch.
    """
    found = inode(ends)
    holders = [one for one in among if found is not None and _holds(one, found)]
    return max(holders, key=lambda one: (one.started, one.pid), default=None)


def inode(ends: Ends) -> str | None:
    """The inode of the client's socket; None when no process holds it."""
    for table, prefix in (("/proc/net/tcp", b""), ("/proc/net/tcp6", _MAPPED)):
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        pair = [_written(ends.client, prefix), _written(ends.site, prefix)]
        for words in map(str.split, lines):
            if words[1:3] == pair and words[9] != "0":
                return words[9]
    return None


def _written(address: Address, prefix: bytes) -> str:
    """An address as the kernel's table has it: each four bytes as one number of this machine's byte order."""
    host = prefix + socket.inet_aton(address[0])
    numbers = struct.unpack(f"={len(host) // 4}I", host)
    return "".join(f"{number:08X}" for number in numbers) + f":{address[1]:04X}"


def _holds(one: Identity, inode: str) -> bool:
    try:
        found = any(str(link.readlink()) == f"socket:[{inode}]" for link in Path(f"/proc/{one.pid}/fd").iterdir())
    except OSError:
        return False  # it has ended, or closed a file, while we looked
    return found and identify(one.pid) == one


def listening(one: Identity) -> tuple[int, ...]:
    """The TCP ports that the process listens on, ascending."""
    try:
        connections = psutil.Process(one.pid).net_connections("tcp")
    except psutil.Error:
        return ()
    return tuple(sorted({c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN}))
