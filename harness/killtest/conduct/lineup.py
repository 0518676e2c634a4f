"""The lineup: the faults still to come, in their order, and whom of those that run the next one is meant for."""

from collections import deque
from collections.abc import Mapping, Sequence

from killtest.conduct.life import Life
from killtest.plan.fault import Fault


class Lineup:
    """Which fault is next; `lives` are the running incarnations by instance, looked at later too."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """Line up those of `faults` that wait for a moment."""
        self._waiting = deque(fault for fault in faults if fault.trigger.kind != "throughout")
        self._newest = 0
        self._over: set[int] = set()
        self.lives: Mapping[int, Life] = {}

    def begin(self, lives: Mapping[int, Life]) -> int:
        """The newest of `lives` is about to start: its number."""
        self.lives = lives
        self._newest = max(life.number for life in lives.values())
        return self._newest

    def leave(self, instance: int) -> None:
        """That copy is not started again."""
        self._over.add(instance)

    @property
    def next(self) -> Fault:
        """The next fault, where there is one."""
        return self._waiting[0]

    def take(self) -> Fault:
        """Its moment has come: the one behind it is next."""
        return self._waiting.popleft()

    def drop_past(self) -> list[Fault]:
        """The faults in front that wait in vain; they are dropped."""
        dropped = []
        while self._waiting and self._is_past(self._waiting[0]):
            dropped.append(self._waiting.popleft())
        return dropped

    def drop_all(self) -> list[Fault]:
        """The trial is over: the faults that are left, dropped."""
        left = list(self._waiting)
        self._waiting.clear()
        return left

    def meant(self) -> Life | None:
        """The running incarnation that the next fault is meant for; the newest where it is for no certain one."""
        if not self._waiting:
            return None
        fault, running = self._waiting[0], [life for life in self.lives.values() if life.exit is None]
        if fault.incarnation is not None:
            return next((life for life in running if life.number == fault.incarnation), None)
        if is_of_an_instance(fault):
            return next((life for life in running if life.instance == fault.instance), None)
        return max(running, key=lambda life: life.number, default=None)

    def hand_over(self, life: Life) -> None:
        """That incarnation has ended: what is armed in it and meant for no certain copy is armed in another."""
        others = [one for one in self.lives.values() if one is not life and one.exit is None]
        if life.is_armed and others and self.next.incarnation is None and not is_of_an_instance(self.next):
            life.is_armed, others[-1].is_armed = False, True

    def _is_past(self, fault: Fault) -> bool:
        """Whether it waits in vain: for an incarnation that ended or is another copy's, or a copy that is over."""
        if fault.incarnation is not None:
            life = next((life for life in self.lives.values() if life.number == fault.incarnation), None)
            return fault.instance not in (0, life.instance) if life else fault.incarnation < self._newest
        return is_of_an_instance(fault) and fault.instance in self._over and bool(self.lives)


def is_of_an_instance(fault: Fault) -> bool:
    """Whether it strikes one certain copy: a service and the site belong to all, an owner is found at its moment.

    CONT goes to whoever is stopped.
    """
    is_signal_or_edit = bool(fault.steps) and fault.service is None and fault.steps[0].signal != "CONT"
    return is_signal_or_edit and fault.scope != "owner"
