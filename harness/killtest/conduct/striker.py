"""The striker: the faults still to come, each armed in its incarnation, struck at its moment, and put on record."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from killtest.conduct import strike_record
from killtest.conduct.acts import Acts
from killtest.conduct.hardships import Hardships
from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.conduct.lineup import Lineup, is_of_an_instance
from killtest.conduct.site import OpenRequest, Site, open_requests
from killtest.conduct.standing import Standing
from killtest.judge.course import CallErrors, Revision
from killtest.judge.evidence import FaultRecord
from killtest.plan.fault import Fault, is_pause
from killtest.plan.manifest import Limits
from killtest.process.launcher import Launcher, Strike
from killtest.process.socket_owner import Ends
from killtest.reload.code_copy import Edited


class Field(Protocol):
    """What the striker needs of the stage."""

    @property
    def launcher(self) -> Launcher:
        """The process side."""

    @property
    def site(self) -> Site:
        """The shop."""

    def rows(self) -> int:
        """How many rows the store holds now."""

    def edit(self, kind: str, instance: int) -> Edited:
        """Make that edit in the code which that instance runs from."""

    def printed_bytes(self, incarnation: int) -> tuple[int, ...]:
        """How much that incarnation has printed so far, in each of its outputs."""

    def said(self, incarnation: int, since_bytes: tuple[int, ...]) -> str:
        """The end of what that incarnation has printed."""

    def move_clock(self, seconds: float) -> None:
        """Move the subject's wall clock by so much from its next start on."""

    def now(self) -> float:
        """CLOCK_MONOTONIC seconds."""


class Striker:
    """Arms one fault after another; `records` holds what became of those that are over."""

    def __init__(self, faults: Sequence[Fault], limits: Limits, field: Field, history: History) -> None:
        """Strike `faults` in their order."""
        self._faults = tuple(faults)
        self._lineup = Lineup(faults)
        self._standing = Standing(field.site, history)
        self._hardships = Hardships(field.launcher, field, history)
        self._limits = limits
        self._field = field
        self._history = history
        self._newest = 0
        self._acts = Acts(field, history)
        self._act_life = Life(0, 0.0)
        self.records: list[FaultRecord] = []

    def planned(self) -> list[str]:
        """All the faults, as text."""
        return [fault.text for fault in self._faults]

    def begin_throughout(self) -> None:
        """The trial starts, and with it what the site does wrong for all of it."""
        for fault in self._faults:
            if fault.trigger.kind == "throughout":
                self._begin_lasting(fault)

    def _begin_lasting(self, fault: Fault, life: Life | None = None) -> None:
        """What site or machine does wrong from now on."""
        self.records.append(FaultRecord(fault.text, "not_reached"))
        if fault.misdeed is not None:
            self._standing.begin(fault, len(self.records) - 1, None if life is None else life.number)
        else:
            self._hardships.begin(fault, len(self.records) - 1, life)

    def met(self, event: dict[str, Any]) -> None:
        """A request or a call of the subject is the first to meet what lasts."""
        if event["event"] == "misbehaved":
            self._standing.meet(event, self.records)
            return
        life = next((one for one in self._lineup.lives.values() if one.number == event["incarnation"]), None)
        self._hardships.meet(event, life, self.records)

    def settle(self, life: Life) -> None:
        """That incarnation has ended."""
        self._hardships.settle(life)

    def begin(self, lives: Mapping[int, Life]) -> bool:
        """The newest of `lives` (by instance; looked at later too) is about to start: site and marks count from 0.

        True when the site must stay as it is.
        """
        self._newest = self._lineup.begin(lives)
        self._standing.know(lives)
        self._disarm()
        return self.arm()

    def _disarm(self) -> None:
        for life in self._lineup.lives.values():
            life.is_armed = False

    def hand_over(self, life: Life) -> None:
        """That incarnation has ended: what is armed in it and meant for no certain copy is armed in another."""
        self._lineup.hand_over(life)

    def leave(self, instance: int) -> None:
        """That copy is not started again."""
        self._lineup.leave(instance)
        if not any(life.is_armed for life in self._lineup.lives.values()):
            self.arm()

    def arm(self) -> bool:
        """Make the next fault ready, if whom it is meant for runs; true when the site must stay as it is."""
        self.records += [FaultRecord(fault.text, "not_reached") for fault in self._lineup.drop_past()]
        life = self._lineup.meant()
        if life is None or any(one.acting is not None for one in self._lineup.lives.values()):
            return False
        if self._acts.due_s is not None:
            return False  # armed when the fault that is under way has taken its last step
        life.is_armed = True
        trigger = self._lineup.next.trigger
        if trigger.kind == "syscall" and trigger.name is not None:
            self._field.launcher.arm_step(trigger.name, trigger.n)
        elif trigger.name is not None:
            self._field.launcher.arm_mark(self._newest, trigger.name, trigger.n)
        elif trigger.kind == "rows":
            # The site goes on, to the next request: a release could let that one out.
            self._field.site.next()
            return True
        elif not trigger.is_timed:
            return self._field.site.arm(trigger)
        return False

    def timer_s(self, life: Life) -> float | None:
        """When the armed timer is due; None while nothing timed is armed or its clock has not begun."""
        if not life.is_armed or not self._lineup.next.trigger.is_timed:
            return None
        trigger = self._lineup.next.trigger
        start_s = life.started_s if trigger.kind == "after" else life.first_request_s
        return None if start_s is None else start_s + trigger.offset_s

    def strike_by_the_clock(self, life: Life, due_s: float) -> None:
        """A timer is due: freeze the site, then strike."""
        in_flight = self._field.site.freeze()
        self._history.note("due", due_s, incarnation=life.number, planned=self._lineup.next.text)
        self.strike(life, due_s, in_flight)

    def hear(self, life: Life, event: dict[str, Any]) -> None:
        """The fact that the armed fault waits for: a mark, or a request or response at the frozen site."""
        due_s = event["t_s"]
        if not is_of_an_instance(self._lineup.next):
            # Told of whose request it is; the newest may not have begun.
            life = next((one for one in self._lineup.lives.values() if one.number == event["incarnation"]), life)
        if event["event"] in ("mark", "step"):
            self._strike_while_it_waits(life, due_s)
        elif not self._lacks_rows(life, due_s):
            self._history.note("due", due_s, incarnation=life.number, path=event["path"], n=event["n"])
            self.strike(life, due_s, open_requests(event["open"]), msgspec.convert(event, Ends))

    def _strike_while_it_waits(self, life: Life, due_s: float) -> None:
        """The subject waits at the armed mark or durable step: freeze the site, strike, let both go on."""
        is_mark = self._lineup.next.trigger.kind == "mark"
        in_flight = self._field.site.freeze()
        self._history.note("due", due_s, incarnation=life.number, planned=self._lineup.next.text)
        self.strike(life, due_s, in_flight)
        if is_mark:
            self._field.launcher.release_mark()
        else:
            self._field.launcher.release_step()

    def _lacks_rows(self, life: Life, due_s: float) -> bool:
        """Whether the armed fault waits for more rows than the store holds; then the site is let go on to the next."""
        trigger = self._lineup.next.trigger
        if trigger.kind != "rows":
            return False
        rows = self._field.rows()
        if rows < trigger.n:
            self._field.site.next()
            return True
        self._history.note("rows", due_s, incarnation=life.number, rows=rows, planned=self._lineup.next.text)
        return False

    def strike(self, life: Life, due_s: float, in_flight: tuple[OpenRequest, ...], ends: Ends | None = None) -> None:
        """The site is frozen and the fault is due: send its first signal, change its pages, then release the site.

        `ends` are those of the connection of the request that was waited for; who holds the client's is the owner.
        """
        fault, site = self._lineup.next, self._field.site
        if not fault.is_blow:
            self._act(life, due_s, in_flight)
            return
        strike = self._first_blow(fault, life, ends)
        self._disarm()
        # The owner may belong to another copy than the one that waited.
        life = next((one for one in self._lineup.lives.values() if one.number == strike.incarnation), life)
        if not strike.targets and fault.steps:
            self._history.note(
                "missed", incarnation=life.number, planned=fault.text, why=strike_record.why_missed(fault, strike)
            )
            if strike.is_over:
                site.release()  # not struck; the exit is on its way, and the fault waits for the next incarnation
                return
            self.records.append(FaultRecord(fault.text, "not_reached"))
        self._lineup.take()
        if strike.targets or not fault.steps:
            self._change_around(fault, life)
            self.records.append(strike_record.of(fault, life, strike, due_s, in_flight))
            self._took(fault, 0, life, strike, in_flight)
        # Armed before the release: what arrived meanwhile is held, and may be what the next fault waits for.
        if life.acting is not None or not self.arm():
            site.release()

    def _change_around(self, fault: Fault, life: Life) -> None:
        """The pages of the site that a fault changes, and the subject's clock."""
        for path in fault.bumps:
            self._history.note("bumped", incarnation=life.number, path=path, version=self._field.site.bump(path))
        if fault.clock_s:
            self._field.move_clock(fault.clock_s)
            self._history.note("clock", incarnation=life.number, moved_s=fault.clock_s)

    def _act(self, life: Life, due_s: float, in_flight: tuple[OpenRequest, ...]) -> None:
        """Begin a fault that is no signal: nobody is ended by it, and the site is frozen for its first step alone."""
        fault, site = self._lineup.take(), self._field.site
        self._disarm()
        if fault.misdeed is not None or fault.hardship is not None:
            self._begin_lasting(fault, life)
        else:
            self._act_life = life
            strike = self._acts.begin(fault, life)
            self._change_around(fault, life)
            self.records.append(strike_record.of(fault, life, strike, due_s, in_flight))
        if not self.arm():
            site.release()

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """The changes of code so far."""
        return tuple(self._acts.revisions)

    @property
    def errors(self) -> tuple[CallErrors, ...]:
        """The incarnations whose calls failed on purpose."""
        return tuple(self._hardships.errors)

    @property
    def act_s(self) -> float | None:
        """When the next step of a fault that is no signal is due; it belongs to no incarnation."""
        return self._acts.due_s

    def next_act(self) -> None:
        """Take that step; behind the last one the next fault is armed, before anybody can see what the step did."""
        self._field.site.freeze()
        self._acts.go_on(self._lineup.lives.get(self._act_life.instance, self._act_life))
        is_armed = any(life.is_armed for life in self._lineup.lives.values())
        if self._acts.due_s is not None or is_armed or not self.arm():
            self._field.site.release()

    def _first_blow(self, fault: Fault, life: Life, ends: Ends | None) -> Strike:
        """What the first signal did; a bump alone needs nobody to take it."""
        if not fault.steps:
            return Strike((), self._field.now())
        return self._field.launcher.strike(fault.steps[0].signal, fault.scope, self._limits.hold_s, ends, life.number)

    def _took(self, fault: Fault, index: int, life: Life, strike: Strike, in_flight: tuple[OpenRequest, ...]) -> None:
        """The signal `index` of the fault has been sent (none, for a bump alone): what it means, and what follows."""
        life.acting, life.next_step_s = None, None
        if not fault.steps:
            return
        is_planned = index < len(fault.steps)
        signal = fault.steps[index].signal if is_planned else "KILL"
        if strike.targets:
            self._note(signal, life, strike, in_flight)
            if strike.main and not is_pause(signal):
                life.struck, life.shrugs_off = fault, strike.ignored
        follows_s = self._delay_behind(fault, index, life)
        if follows_s is not None:
            life.acting, life.step = fault, index + 1
            life.next_step_s = (strike.t_s if strike.targets else self._field.now()) + follows_s

    def _delay_behind(self, fault: Fault, index: int, life: Life) -> float | None:
        """How long after signal `index` the next one follows; None when none does."""
        if index + 1 < len(fault.steps):
            return fault.steps[index + 1].delay_s
        return self._limits.grace_s if life.struck is fault else None

    def next_step(self, life: Life) -> None:
        """The next signal of the action, or SIGKILL behind the last polite one."""
        fault, index, place = life.acting, life.step, len(self.records) - 1
        assert fault is not None
        is_planned = index < len(fault.steps)
        signal = fault.steps[index].signal if is_planned else "KILL"
        scope = fault.scope if is_planned else "tree"
        # Behind the end of a pause the next fault is armed before anybody can move: what it waits for may come at once.
        is_resumed = is_planned and index + 1 == len(fault.steps) and is_pause(signal) and life.struck is not fault
        stays = False
        if is_resumed:
            self._field.site.freeze()
            life.acting = None
            stays = self.arm()
        strike = self._field.launcher.strike(signal, scope, self._limits.hold_s, incarnation=life.number)
        if strike.targets:
            status = self.records[place].status if is_planned else "escalated"
            self.records[place] = msgspec.structs.replace(self.records[place], status=status, last_s=strike.t_s)
        self._took(fault, index, life, strike, ())
        if is_resumed and not stays:
            self._field.site.release()
        elif not is_resumed and life.acting is None:
            self.arm()  # its last signal hit another than the main process, which lives on

    def drop_unreached(self) -> None:
        """The trial is over: what is still to come was not reached, but for the last step of what is under way."""
        self._acts.finish(self._act_life)
        self.records += [FaultRecord(fault.text, "not_reached") for fault in self._lineup.drop_all()]
        self._standing.end()
        # What held throughout has the first records: each now stands where its fault does in the schedule.
        is_throughout = [fault.trigger.kind == "throughout" for fault in self._faults]
        first, others = iter(self.records[: sum(is_throughout)]), iter(self.records[sum(is_throughout) :])
        self.records = [next(first if one else others) for one in is_throughout]

    def _note(self, signal: str, life: Life, strike: Strike, in_flight: tuple[OpenRequest, ...]) -> None:
        held = (
            {} if strike.resident_bytes is None else {"pids": strike.targets, "resident_bytes": strike.resident_bytes}
        )
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
            **held,
        )
