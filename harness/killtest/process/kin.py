"""The subject's processes in a trial: who they are, and of which incarnation."""

import os
from collections.abc import Iterable
from pathlib import Path

from killtest.process import process_tree as tree
from killtest.process.process_tree import Identity


class Kin:
    """All that descends from this warden but the outsiders, which are the site and the services.

    `incarnation` is the number of the newest one.
    """

    def __init__(self) -> None:
        """Nobody yet."""
        self.outsiders: set[int] = set()
        self.incarnation = 0
        self._mains: dict[int, Identity | None] = {}
        self._peers: frozenset[int] = frozenset()
        self._known: dict[Identity, int] = {}
        self._sessions: dict[int, int] = {}

    def begin(self, pid: int, incarnation: int, left: list[Identity], peers: Iterable[int] = ()) -> None:
        """A new main process; whoever was `left` behind before its start belongs to an earlier incarnation.

        Those of the incarnations `peers` run beside it.
        """
        for one in left:
            self._known[one] = self.incarnation_of(one)
        main = self._mains[incarnation] = tree.identify(pid)
        self.incarnation = incarnation
        self._peers = frozenset(peers)
        self._sessions[pid] = incarnation
        if main is not None:
            self._known[main] = incarnation

    def main_of(self, incarnation: int | None = None) -> Identity | None:
        """The main process of that incarnation, the newest where none is named."""
        return self._mains.get(self.incarnation if incarnation is None else incarnation)

    def counted_with(self, one: Identity) -> int:
        """The incarnation that its marks count to: peers count together with the newest."""
        incarnation = self.incarnation_of(one)
        return self.incarnation if incarnation in self._peers else incarnation

    def living(self) -> list[Identity]:
        """The subject's processes, zombies among them."""
        return tree.descendants(os.getpid(), without=self.outsiders)

    def incarnation_of(self, one: Identity) -> int:
        """By what is known of it or of its nearest known ancestor, else by its session, else by its environment.

        A process that left its session, cleared its environment and lost its parent before anybody looked counts to
        the newest incarnation.
        """
        ancestor: Identity | None = one
        while ancestor is not None:
            if ancestor in self._known:
                return self._known[ancestor]
            parent = tree.parent_of(ancestor)
            ancestor = tree.identify(parent) if parent is not None and parent != os.getpid() else None
        by_session = self._sessions.get(_session_of(one.pid))
        return by_session if by_session is not None else _told_by_environment(one.pid, self.incarnation)

    def scope(self, scope: str, main: Identity | None, owner: Identity | None) -> list[Identity]:
        """The living processes that a signal of this scope goes to; empty when nobody is there (any more)."""
        if scope in ("owner", "largest"):
            return [owner] if owner is not None and not tree.is_dead(owner) else []
        if main is None or tree.is_dead(main):
            return []
        if scope == "pid":
            return [main]
        if scope == "tree":
            return sorted([main, *tree.descendants(main.pid)], key=lambda one: one.started)
        return [one for one in self.living() if _group_of(one.pid) == main.pid and not tree.is_zombie(one)]


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def _told_by_environment(pid: int, otherwise: int) -> int:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return otherwise
    told = [word.partition(b"=")[2] for word in words if word.startswith(b"KILLTEST_INCARNATION=")]
    return int(told[0]) if told and told[0].isdigit() else otherwise
