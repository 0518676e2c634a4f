"""Who is there: the roll of the subject's processes, called for the harness."""

import os
from collections.abc import Callable
from typing import Any

from killtest.process import process_tree as tree
from killtest.process import socket_owner
from killtest.process.kin import Kin
from killtest.process.process_tree import Identity

Message = dict[str, Any]


class Roll:
    """The main processes that run, and who is left besides what running copies have started."""

    def __init__(self, kin: Kin, running: Callable[[], set[int]], reap: Callable[[], None]) -> None:
        """Call those of `kin`; `running` are the incarnations whose main process runs, `reap` waits for the dead."""
        self._kin, self._running, self._reap = kin, running, reap
        self.commands: dict[str, Callable[[Message], Message]] = {"mains": self._mains, "census": self._census}

    def _mains(self, _: Message) -> Message:
        """The main processes, and those of running copies that have left their trees, as daemons do."""
        running = self._running()
        tops = [one for one in self._kin.living() if tree.parent_of(one) == os.getpid() and not tree.is_zombie(one)]
        return {"mains": [self.face(one) for one in tops if self._kin.incarnation_of(one) in running]}

    def _census(self, request: Message) -> Message:
        """The subject's processes besides those of running copies: living ones and zombies, counted apart."""
        tree.wait_dead(self.left(), request["settle_s"])
        left = self.left()
        zombies = [one for one in left if tree.is_zombie(one)]
        orphans = [one for one in left if one not in zombies]
        return {"orphans": [self.face(one) for one in orphans], "zombies": [self.face(one) for one in zombies]}

    def face(self, one: Identity) -> Message:
        """A process as a report shows it."""
        facts = {"started": one.started, "incarnation": self._kin.incarnation_of(one)}
        return {"pid": one.pid, "command": tree.command_of(one), "ports": socket_owner.listening(one), **facts}

    def left(self) -> list[Identity]:
        """Whoever is no running copy's; what a running copy has started is its own affair as yet."""
        self._reap()
        running = self._running()
        found = [one for one in self._kin.living() if not running or self._kin.incarnation_of(one) not in running]
        # Our own dead children are reaped by us, as an init would: they are nobody's zombies.
        return [one for one in found if not (tree.is_zombie(one) and tree.parent_of(one) == os.getpid())]
