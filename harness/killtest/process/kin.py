"""The subject's processes in a trial: who they are, and of which incarnation."""

import os
from pathlib import Path

from killtest.process import process_tree as tree
from killtest.process.process_tree import Identity


class Kin:
    """All that descends from this warden but the outsiders, which are the site and the services.

    `main` is the newest incarnation's main process.
    """

    def __init__(self) -> None:
        """Nobody yet."""
        self.outsiders: set[int] = set()
        self.main: Identity | None = None
        self.incarnation = 0
        self._known: dict[Identity, int] = {}
        self._sessions: dict[int, int] = {}

    def begin(self, pid: int, incarnation: int, left: list[Identity]) -> None:
        """A new main process; whoever was `left` behind before its start belongs to an earlier incarnation."""
        for one in left:
            self._known[one] = self.incarnation_of(one)
        self.main = tree.identify(pid)
        self.incarnation = incarnation
        self._sessions[pid] = incarnation
        if self.main is not None:
            self._known[self.main] = incarnation

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

    def scope(self, scope: str, owner: Identity | None) -> list[Identity]:
        """The living processes that a signal of this scope goes to; empty when nobody is there (any more)."""
        main = self.main
        if scope == "owner":
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
