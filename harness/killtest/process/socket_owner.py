"""Whose socket it is: the process that holds one end of a TCP connection, and the ports that a process listens on."""

from collections.abc import Iterable
from pathlib import Path

import psutil

from killtest.process.process_tree import Identity, identify


def owner(peer: int, port: int, among: Iterable[Identity]) -> Identity | None:
    """The process that holds the client side (port `peer`) of a connection to `port`; None when nobody of them does.

    Of several that inherited it the youngest: a parent that forks workers does not fetch.
    """
    inode = _inode(peer, port)
    holders = [one for one in among if inode is not None and _holds(one, inode)]
    return max(holders, key=lambda one: (one.started, one.pid), default=None)


def _inode(peer: int, port: int) -> str | None:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[1].endswith(f":{peer:04X}") and words[2].endswith(f":{port:04X}") and words[9] != "0":
                return words[9]
    return None


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
