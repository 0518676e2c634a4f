"""The kernel's table of TCP sockets: whether somebody still holds a connection's other end, and which inode that is.

On Linux all of 127/8 is this machine, and a client may have the same port on two of our addresses: only the full pair
of addresses names a connection. Without /proc nobody is found.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

# An IPv4 host and a port.
Address = tuple[str, int]
# Where the site listens; what it listens at besides are the hosts that follow.
FIRST_HOST = "127.0.0.1"


def inode(local: Address, remote: Address) -> str | None:
    """The inode of the socket that is bound to `local` and connected to `remote`; None when no process holds it."""
    for table, words in (("/proc/net/tcp", _plain), ("/proc/net/tcp6", _mapped)):
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        pair = [words(local), words(remote)]
        for fields in map(str.split, lines):
            if fields[1:3] == pair and fields[9] != "0":
                return fields[9]
    return None


def _plain(address: Address) -> str:
    """An address as /proc/net/tcp writes it: four bytes as one number of this machine's byte order."""
    return _written(socket.inet_aton(address[0]), address[1])


def _mapped(address: Address) -> str:
    """The same in /proc/net/tcp6, where a client with an IPv6 socket appears."""
    return _written(b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address[0]), address[1])


def _written(host: bytes, port: int) -> str:
    numbers = struct.unpack(f"={len(host) // 4}I", host)
    return "".join(f"{number:08X}" for number in numbers) + f":{port:04X}"
