"""The striker: the faults still to come, each armed in its incarnation, struck at its moment, and put on record."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import msgspec

from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.conduct.site import OpenRequest, Site
from killtest.judge.evidence import FaultRecord
from killtest.plan.fault import Fault
from killtest.plan.manifest import Limits
from killtest.process.launcher import Launcher, Strike


class Field(Protocol):
    """What the striker needs of the stage."""

    @property
    def launcher(self) -> Launcher:
        """The process side."""

    @property
    def site(self) -> Site:
        """The shop."""

    def now(self) -> float:
        """CLOCK_MONOTONIC seconds."""


class Striker:
    """Arms one fault after another; `records` holds what became of those that are over."""

    def __init__(self, faults: Sequence[Fault], limits: Limits, field: Field, history: History) -> None:
        """Strike `faults` in their order."""
        self._pending = deque(faults)
        self._limits = limits
        self._field = field
        self._history = history
        self.records: list[FaultRecord] = []

    def planned(self) -> list[str]:
        """The faults still to come, as text."""
        return [fault.text for fault in self._pending]

    def arm(self, life: Life) -> None:
        """Make the next fault ready, if it belongs to this incarnation."""
        while self._pending and _is_past(self._pending[0], life.number):
            self.records.append(FaultRecord(self._pending.popleft().text, "not_reached"))
        if not self._pending or self._pending[0].incarnation not in (None, life.number):
            return
        life.is_armed = True
        trigger = self._pending[0].trigger
        if not trigger.is_timed:
            self._field.site.arm(trigger)

    def timer_s(self, life: Life) -> float | None:
        """When the armed timer is due; None while nothing timed is armed or its clock has not begun."""
        if not life.is_armed or life.struck is not None or not self._pending[0].trigger.is_timed:
            return None
        trigger = self._pending[0].trigger
        start_s = life.started_s if trigger.kind == "after" else life.first_request_s
        return None if start_s is None else start_s + trigger.offset_s

    def strike_by_the_clock(self, life: Life, due_s: float) -> None:
        """A timer is due: freeze the site, then strike."""
        in_flight = self._field.site.freeze()
        self._history.note("due", due_s, incarnation=life.number, planned=self._pending[0].text)
        self.strike(life, due_s, in_flight)

    def strike(self, life: Life, due_s: float, in_flight: tuple[OpenRequest, ...]) -> None:
        """The site is frozen and the fault is due: send its first signal, then release the site."""
        fault = self._pending[0]
        strike = self._field.launcher.strike(fault.steps[0].signal, fault.scope, self._limits.hold_s)
        self._field.site.release()
        if not strike.targets:
            # It had ended by itself before the signal: not struck, and the exit is on its way.
            self._history.note("missed", strike.t_s, incarnation=life.number, planned=fault.text)
            life.is_armed = False
            return
        self._pending.popleft()
        life.struck = fault
        life.shrugs_off = strike.ignored
        self.records.append(_record(fault, life, strike, due_s, in_flight))
        self._note(fault.steps[0].signal, life, strike, in_flight)
        self._plan_step(life, 1, strike.t_s)

    def next_step(self, life: Life) -> None:
        """The next signal of the action, or SIGKILL behind the last polite one."""
        assert life.struck is not None
        is_planned = life.step < len(life.struck.steps)
        signal = life.struck.steps[life.step].signal if is_planned else "KILL"
        scope = life.struck.scope if is_planned else "tree"
        strike = self._field.launcher.strike(signal, scope, self._limits.hold_s)
        if strike.targets:
            life.shrugs_off = strike.ignored
            if not is_planned:
                self.records[-1] = msgspec.structs.replace(self.records[-1], status="escalated")
            self._note(signal, life, strike, ())
        self._plan_step(life, life.step + 1, self._field.now())

    def drop_unreached(self) -> None:
        """The trial is over: what is still to come was not reached."""
        self.records += [FaultRecord(fault.text, "not_reached") for fault in self._pending]
        self._pending.clear()

    def _plan_step(self, life: Life, index: int, after_s: float) -> None:
        assert life.struck is not None
        steps = life.struck.steps
        life.step = index
        life.next_step_s = after_s + (steps[index].delay_s if index < len(steps) else self._limits.grace_s)

    def _note(self, signal: str, life: Life, strike: Strike, in_flight: tuple[OpenRequest, ...]) -> None:
        self._history.note(
            "struck",
            strike.t_s,
            incarnation=life.number,
            signal=signal,
            targets=len(strike.targets),
            caught=strike.caught,
            ignored=strike.ignored,
            settled=strike.settled,
            settled_s=strike.settled_s,
            in_flight=[request.path for request in in_flight],
        )


def _record(fault: Fault, life: Life, strike: Strike, due_s: float, in_flight: tuple[OpenRequest, ...]) -> FaultRecord:
    """What is known at once; `evidence.located` says the rest from the site's log."""
    first_s = life.first_request_s
    return FaultRecord(
        planned=fault.text,
        status="before_first_request" if first_s is None else "struck",
        incarnation=life.number,
        due_s=due_s - life.started_s,
        struck_s=strike.t_s - life.started_s,
        t_s=strike.t_s,
        since_first_request_s=None if first_s is None else strike.t_s - first_s,
        scope=fault.scope,
        in_flight=tuple(request.path for request in in_flight),
        window="start-up" if first_s is None else "waiting" if in_flight else "idle",
        caught=strike.caught,
        ignored=strike.ignored,
    )


def _is_past(fault: Fault, number: int) -> bool:
    return fault.incarnation is not None and fault.incarnation < number
