"""Run one trial: incarnation after incarnation, each fault at its moment, until the subject is done or given up on.

The conductor decides and waits; whoever starts processes, serves pages and reads stores is behind the
`Stage`, so that the tests can put a simulation with a clock of its own there.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from killtest.errors import HarnessFailure
from killtest.evidence import Course, Ending, FaultRecord, Incarnation, Window
from killtest.fault import Fault
from killtest.history import History
from killtest.launcher import Launcher, Order, Strike
from killtest.life import Life
from killtest.manifest import Limits
from killtest.site import OpenRequest, Site, open_requests
from killtest.snapshot import Snapshot

Event = dict[str, Any]
# Below this share of one CPU a process counts as idle: a true hang used 0.00 CPU s in 5 s, an event
# loop's housekeeping well under 1 %.
_IDLE_CPU_SHARE = 0.02
_IDLE_LOOKS = 5


class Stage(Protocol):
    """The world a trial runs in."""

    @property
    def launcher(self) -> Launcher:
        """The process side."""

    @property
    def site(self) -> Site:
        """The shop."""

    def now(self) -> float:
        """CLOCK_MONOTONIC seconds."""

    def next_event(self, until_s: float) -> Event | None:
        """The next event of the warden or the site; None once it is `until_s`."""

    def order(self, incarnation: int) -> Order:
        """How to start that incarnation."""

    def snapshot(self, incarnation: int) -> Snapshot:
        """What the store holds now; nobody writes to it meanwhile."""


class Conductor:
    """One trial in the making."""

    def __init__(self, faults: Sequence[Fault], limits: Limits, stage: Stage, history: History, again: int = 0) -> None:
        """Conduct `faults` in order on `stage`; after a control's end, start the subject `again` times more."""
        self._pending = deque(faults)
        self._limits = limits
        self._stage = stage
        self._history = history
        self._again = again
        self._began_s = stage.now()
        self._records: list[FaultRecord] = []
        self._incarnations: list[Incarnation] = []
        self._snapshots: list[Snapshot] = []
        self._self_deaths = 0
        self._silent_deaths = 0
        self._life = Life(0, self._began_s)

    def run(self) -> Course:
        """The whole trial. HarnessFailure when a part of killtest failed, which makes the trial UNKNOWN."""
        self._history.note("trial_started", self._began_s, faults=[fault.text for fault in self._pending])
        ending = None
        while ending is None:
            ending = self._incarnation()
        self._drop_unreached()
        for _ in range(self._again if ending == "finished" else 0):
            self._incarnation(is_again=True)
        census = self._stage.launcher.census()
        self._stage.launcher.end_subject()
        self._history.note("trial_ended", ending=ending, orphans=len(census.orphans), zombies=len(census.zombies))
        if self._snapshots[-1].error is not None and ending == "finished":
            ending = "unreadable_store"
        return Course(
            ending,
            tuple(self._incarnations),
            tuple(self._records),
            tuple(self._snapshots),
            census.orphans,
            census.zombies,
            self._self_deaths,
        )

    # One incarnation

    def _incarnation(self, is_again: bool = False) -> Ending | None:
        number = len(self._incarnations)
        self._stage.site.begin(number)
        started_s = self._stage.launcher.start(self._stage.order(number))
        self._life = Life(number, started_s)
        self._history.note("started", started_s, incarnation=number, again=is_again)
        self._arm()
        while self._life.exit is None:
            event = self._stage.next_event(self._next_moment())
            if event is not None:
                self._hear(event)
            self._keep_time()
        self._settle(is_again)
        return None if is_again else self._decide()

    def _hear(self, event: Event) -> None:
        life = self._life
        match event["event"]:
            case "exit":
                life.exit, life.ended_s = event["code"], event["t_s"]
            case "site_exit":
                raise HarnessFailure(f"the site ended with {event['code']} in incarnation {life.number}")
            case "first_request" if event["incarnation"] == life.number:
                life.first_request_s = event["t_s"]
                self._history.note("first_request", event["t_s"], incarnation=life.number)
            case "due":
                self._history.note("due", event["t_s"], incarnation=life.number, path=event["path"], n=event["n"])
                self._strike(event["t_s"], open_requests(event["open"]))
            case "gone" | "hold_expired":
                self._history.note(event["event"], event["t_s"], **_rest(event))

    def _next_moment(self) -> float:
        life, limits = self._life, self._limits
        moments = [self._began_s + limits.total_s, life.looked_s + limits.idle_s / _IDLE_LOOKS]
        timer_s = self._timer_s()
        if timer_s is not None:
            moments.append(timer_s)
        if life.next_step_s is not None:
            moments.append(life.next_step_s)
        return min(moments)

    def _keep_time(self) -> None:
        """Do what has become due by the clock."""
        life, now_s = self._life, self._stage.now()
        timer_s = self._timer_s()
        if life.exit is not None:
            return
        if life.next_step_s is not None and now_s >= life.next_step_s:
            self._next_step()
        elif timer_s is not None and now_s >= timer_s:
            in_flight = self._stage.site.freeze()
            self._history.note("due", timer_s, incarnation=life.number, planned=self._pending[0].text)
            self._strike(timer_s, in_flight)
        elif now_s >= self._began_s + self._limits.total_s:
            self._give_up("out_of_time")
        elif now_s >= life.looked_s + self._limits.idle_s / _IDLE_LOOKS:
            self._look_for_activity(now_s)

    def _look_for_activity(self, now_s: float) -> None:
        life = self._life
        life.looked_s = now_s
        cpu_s, alive = self._stage.launcher.usage()
        requests = sum(self._stage.site.requests())
        is_busy = cpu_s - life.cpu_s > _IDLE_CPU_SHARE * (now_s - life.active_s)
        if requests != life.requests or (is_busy and cpu_s > life.cpu_s):
            life.requests, life.cpu_s, life.active_s = requests, cpu_s, now_s
        elif now_s - life.active_s >= self._limits.idle_s and life.struck is None:
            self._history.note("idle", incarnation=life.number, for_s=now_s - life.active_s, processes=alive)
            self._give_up("hung")

    def _give_up(self, ending: Ending) -> None:
        self._life.limit = ending
        self._history.note("given_up", incarnation=self._life.number, ending=ending)
        self._stage.launcher.end_subject()
        self._wait_for_exit()

    def _wait_for_exit(self) -> None:
        ends_s = self._stage.now() + self._limits.hold_s + 10
        while self._life.exit is None:
            event = self._stage.next_event(ends_s)
            if event is None:
                raise HarnessFailure(f"incarnation {self._life.number} was killed and its end was not seen")
            if event["event"] == "exit":
                self._hear(event)

    # Faults

    def _arm(self) -> None:
        """Make the next fault ready, if it belongs to this incarnation."""
        number = self._life.number
        while self._pending and _is_past(self._pending[0], number):
            self._records.append(FaultRecord(self._pending.popleft().text, "not_reached"))
        if not self._pending or self._pending[0].incarnation not in (None, number):
            return
        self._life.is_armed = True
        trigger = self._pending[0].trigger
        if not trigger.is_timed:
            self._stage.site.arm(trigger)

    def _timer_s(self) -> float | None:
        """When the armed timer is due; None while nothing timed is armed or its clock has not begun."""
        life = self._life
        if not life.is_armed or life.struck is not None or not self._pending[0].trigger.is_timed:
            return None
        trigger = self._pending[0].trigger
        start_s = life.started_s if trigger.kind == "after" else life.first_request_s
        return None if start_s is None else start_s + trigger.offset_s

    def _strike(self, due_s: float, in_flight: tuple[OpenRequest, ...]) -> None:
        life, fault = self._life, self._pending[0]
        strike = self._stage.launcher.strike(fault.steps[0].signal, fault.scope, self._limits.hold_s)
        self._stage.site.release()
        if not strike.targets:
            # It had ended by itself before the signal: not struck, and the exit is on its way.
            self._history.note("missed", strike.t_s, incarnation=life.number, planned=fault.text)
            life.is_armed = False
            return
        self._pending.popleft()
        life.struck = fault
        self._records.append(self._record(fault, strike, due_s, in_flight))
        self._note_strike(fault.steps[0].signal, strike, in_flight)
        self._plan_step(1, strike.t_s)

    def _record(self, fault: Fault, strike: Strike, due_s: float, in_flight: tuple[OpenRequest, ...]) -> FaultRecord:
        life = self._life
        first_s = life.first_request_s
        window: Window = "start-up" if first_s is None else "waiting" if in_flight else "idle"
        return FaultRecord(
            planned=fault.text,
            status="before_first_request" if first_s is None else "struck",
            incarnation=life.number,
            due_s=due_s - life.started_s,
            struck_s=strike.t_s - life.started_s,
            since_first_request_s=None if first_s is None else strike.t_s - first_s,
            scope=fault.scope,
            in_flight=tuple(request.path for request in in_flight),
            window=window,
            caught=strike.caught,
            ignored=strike.ignored,
        )

    def _plan_step(self, index: int, after_s: float) -> None:
        """When the next signal of the action follows, or, behind the last polite one, SIGKILL."""
        life = self._life
        assert life.struck is not None
        steps = life.struck.steps
        life.step = index
        delay_s = steps[index].delay_s if index < len(steps) else self._limits.grace_s
        life.next_step_s = after_s + delay_s

    def _next_step(self) -> None:
        life = self._life
        assert life.struck is not None
        if life.step < len(life.struck.steps):
            signal, scope = life.struck.steps[life.step].signal, life.struck.scope
        else:
            signal, scope = "KILL", "tree"
            self._records[-1] = msgspec.structs.replace(self._records[-1], status="escalated")
        strike = self._stage.launcher.strike(signal, scope, self._limits.hold_s)
        self._note_strike(signal, strike, ())
        self._plan_step(life.step + 1, self._stage.now())

    def _note_strike(self, signal: str, strike: Strike, in_flight: tuple[OpenRequest, ...]) -> None:
        self._history.note(
            "struck",
            strike.t_s,
            incarnation=self._life.number,
            signal=signal,
            targets=len(strike.targets),
            caught=strike.caught,
            ignored=strike.ignored,
            settled=strike.settled,
            settled_s=strike.settled_s,
            in_flight=[request.path for request in in_flight],
        )

    def _drop_unreached(self) -> None:
        self._records += [FaultRecord(fault.text, "not_reached") for fault in self._pending]
        self._pending.clear()

    # Between two incarnations

    def _settle(self, is_again: bool) -> None:
        """Draw the border: earlier connections are in and closed, the store is read, the books are up to date."""
        life, stage = self._life, self._stage
        passed = stage.site.fence()
        self._drain()
        left = stage.launcher.census().orphans
        if left:
            stage.launcher.hold_still()
        snapshot = stage.snapshot(life.number)
        if left:
            stage.launcher.go_on()
        self._snapshots.append(snapshot)
        self._incarnations.append(life.closed(self._began_s, is_again))
        self._history.note(
            "ended",
            life.ended_s,
            incarnation=life.number,
            exit=life.exit,
            by=self._incarnations[-1].ended_by,
            rows=len(snapshot.rows) if snapshot.error is None else None,
            requests=stage.site.requests()[0],
            store_error=snapshot.error,
            fence_passed=passed,
            left_behind=[face.command for face in left],
        )

    def _drain(self) -> None:
        """Take in what the site had still to say of this incarnation; a trigger that came due too late is let go."""
        while (event := self._stage.next_event(self._stage.now())) is not None:
            if event["event"] == "due":
                self._stage.site.release()
                self._history.note("missed", event["t_s"], incarnation=self._life.number, path=event["path"])
            else:
                self._hear(event)

    def _decide(self) -> Ending | None:
        life = self._life
        if life.limit is not None:
            return life.limit
        if life.struck is not None:
            return None
        if life.exit == 0:
            return "finished"
        self._self_deaths += 1
        self._silent_deaths = self._silent_deaths + 1 if life.first_request_s is None else 0
        if self._self_deaths <= self._limits.restarts:
            return None
        return "refused_start" if self._silent_deaths >= self._self_deaths else "crash_loop"


def _is_past(fault: Fault, number: int) -> bool:
    return fault.incarnation is not None and fault.incarnation < number


def _rest(event: Event) -> Event:
    return {key: value for key, value in event.items() if key not in ("event", "t_s")}
