"""The limit on what the subject's processes hold: by the kernel where it can be, else by looking and killing."""

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from killtest.process import memory_cgroup
from killtest.process import process_tree as tree
from killtest.process.kin import Kin
from killtest.process.memory_cgroup import MemoryCgroup
from killtest.process.process_tree import Identity

Message = dict[str, Any]
_LOOK_EVERY_S = 0.02
_DEATH_DEADLINE_S = 5.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryLimit:
    """A trial's limit; nothing is made and nobody is looked at before it is held in readiness.

    `say` takes an event for each process that was killed for its memory.
    """

    def __init__(self, kin: Kin, say: Callable[[Message], None]) -> None:
        """No limit."""
        self._kin = kin
        self._say = say
        self._cgroup: MemoryCgroup | None = None
        self._size_bytes: int | None = None
        self._told = 0
        self._known: dict[Identity, int] = {}
        self.commands: dict[str, Callable[[Message], Message]] = {
            "hold_memory": self._hold,
            "limit_memory": self._limit,
        }

    @property
    def enter(self) -> Callable[[], None] | None:
        """What a new process of the subject has to do before it begins, if anything."""
        return self._cgroup.enter if self._cgroup else None

    def look_every_s(self, otherwise_s: float) -> float:
        """How often to look."""
        return otherwise_s if self._size_bytes is None else _LOOK_EVERY_S

    def look(self) -> None:
        """Kill who holds too much, or see whom the kernel has killed."""
        if self._size_bytes is None:
            return
        if self._cgroup is None:
            held = {one: resident_bytes_of(one) for one in self._kin.living()}
            if sum(held.values()) > self._size_bytes:
                self._kill_largest(held)
            return
        # The kernel counts a kill before its victim is dead; who has died since the last look and held most is told.
        open_kills = self._cgroup.kills() - self._told
        gone = sorted((one for one in self._known if tree.is_dead(one)), key=lambda one: self._known[one], reverse=True)
        for one in gone[:open_kills]:
            self._told += 1
            self._tell(one, self._known[one])
        living = [one for one in self._cgroup.members() if not tree.is_dead(one)]
        # One that is being killed holds nothing any more before it is dead.
        self._known = {one: resident_bytes_of(one) or self._known.get(one, 0) for one in living}

    def close(self) -> None:
        """The subject has ended."""
        if self._cgroup is not None:
            self._cgroup.remove()
            self._cgroup = None

    def _hold(self, request: Message) -> Message:
        """Before the first start: make what every process of the subject will be in."""
        self._cgroup = memory_cgroup.make(request["name"])
        return {"path": str(self._cgroup.path) if self._cgroup else None}

    def _limit(self, request: Message) -> Message:
        self._size_bytes = int(request["size_bytes"])
        if self._cgroup is None:
            return {"by": "the warden, which looks and kills the largest process"}
        ends_s = time.monotonic() + _DEATH_DEADLINE_S
        while not self._is_set(self._cgroup, self._size_bytes) and time.monotonic() < ends_s:
            # Version 1 refuses a limit below what is held; version 2 kills, as the kernel does later.
            self._kill_largest({one: resident_bytes_of(one) for one in self._cgroup.members()})
        return {"by": f"the kernel (memory cgroup, version {self._cgroup.version})"}

    @staticmethod
    def _is_set(cgroup: MemoryCgroup, size_bytes: int) -> bool:
        try:
            cgroup.limit(size_bytes)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def _kill_largest(self, held: dict[Identity, int]) -> None:
        if not held:
            return
        one = largest(held)
        if tree.send(one, signal.SIGKILL):
            tree.wait_dead([one], _DEATH_DEADLINE_S)
            self._tell(one, held[one])

    def _tell(self, one: Identity | None, resident_bytes: int | None) -> None:
        facts: Message = {"limit_bytes": self._size_bytes, "resident_bytes": resident_bytes}
        facts |= {"most_bytes": self._cgroup.most_bytes()} if self._cgroup else {}
        incarnation = self._kin.incarnation if one is None else self._kin.incarnation_of(one)
        pid = None if one is None else one.pid
        self._say({"event": "out_of_memory", "pid": pid, "incarnation": incarnation, **facts, "t_s": time.monotonic()})


def largest(held: dict[Identity, int]) -> Identity:
    """Who holds the most; of equals the youngest."""
    return max(held, key=lambda one: (held[one], one.started))


def resident_bytes_of(one: Identity) -> int:
    """What the process holds in memory (statm of proc(5)); 0 when it is gone."""
    try:
        return int(Path(f"/proc/{one.pid}/statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def largest_of(targets: list[Identity]) -> Identity | None:
    """Whom the kernel's OOM killer would choose among them, by resident memory; None of nobody."""
    living = {one: resident_bytes_of(one) for one in targets if not tree.is_dead(one)}
    return largest(living) if living else None
