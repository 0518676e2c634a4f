"""Processes of older incarnations that live on, and which of them opened a connection.

While there is one, the moment at which a connection is accepted does not tell whose it is: its socket's owner does
(inode in /proc/net/tcp, links in /proc/PID/fd). Without /proc nobody is found, and the moment decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from . import sockets
from .sockets import Address


class Elder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A living process of an earlier incarnation; `started` is its start in clock ticks since boot, as in /proc."""

    pid: int
    started: float
    incarnation: int


class Elders:
    """The elders as the harness last named them, and what they have forked since."""

    def __init__(self) -> None:
        self._elders: tuple[Elder, ...] = ()

    def know(self, elders: Iterable[Elder]) -> None:
        """These are all there are."""
        self._elders = tuple(elders)

    def incarnation_of(self, client: Address, site: Address) -> int | None:
        """The incarnation of the elder that holds the client's side of that connection to our address; None without."""
        living = [one for one in self._elders if _started(one.pid) == one.started]
        if not living:
            return None
        inode = sockets.inode(client, site)
        if inode is None:
            return None
        children = _children()
        for elder in living:
            if any(_holds(pid, inode) for pid in _family(elder.pid, children)):
                return elder.incarnation
        return None


def _holds(pid: int, inode: str) -> bool:
    try:
        return any(str(link.readlink()) == f"socket:[{inode}]" for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False  # it has ended, or closed a file, while we looked


def _family(pid: int, children: dict[int, list[int]]) -> list[int]:
    """The process and all below it."""
    family = [pid]
    for one in family:
        family += children.get(one, [])
    return family


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for name in (path.name for path in Path("/proc").iterdir()):
        if name.isdecimal() and (fields := _stat(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    return children


def _started(pid: int) -> float | None:
    fields = _stat(pid)
    return float(fields[19]) if fields else None


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the command name, which may hold spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []
