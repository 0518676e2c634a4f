"""Run one trial: incarnation after incarnation, each fault at its moment, until the subject is done or given up on.

The conductor decides and waits; whoever starts processes, serves pages and reads stores is behind the
`Stage`, so that the tests can put a simulation with a clock of its own there.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.conduct.striker import Field, Striker
from killtest.errors import HarnessFailure
from killtest.judge.evidence import Course, Ending, Incarnation
from killtest.plan.fault import Fault
from killtest.plan.manifest import Limits
from killtest.process.launcher import Census, Face, Order
from killtest.store.snapshot import Snapshot

Event = dict[str, Any]
# Below this share of one CPU a process counts as idle: a true hang used 0.00 CPU s in 5 s, an event
# loop's housekeeping well under 1 %.
_IDLE_CPU_SHARE = 0.02
_IDLE_LOOKS = 5
# Helpers of a runtime (multiprocessing's resource tracker) end some 50 ms behind their main process.
_SETTLE_S = 1.0


class Stage(Field, Protocol):
    """The world a trial runs in: the striker's field, with events, orders and the store."""

    def next_event(self, until_s: float) -> Event | None:
        """The next event of the warden or the site; None once it is `until_s`."""

    def order(self, incarnation: int) -> Order:
        """How to start that incarnation."""

    def snapshot(self, incarnation: int) -> Snapshot:
        """What the store holds now; nobody writes to it meanwhile."""


class Conductor:
    """One trial in the making."""

    def __init__(
        self,
        faults: Sequence[Fault],
        limits: Limits,
        stage: Stage,
        history: History,
        again: int = 0,
        first: int = 0,
    ) -> None:
        """Conduct `faults` in order on `stage`; once the subject has finished, start it `again` times more.

        The first incarnation gets the number `first`: a stage may see several trials.
        """
        self._limits = limits
        self._stage = stage
        self._history = history
        self._again = again
        self._began_s = stage.now()
        self._striker = Striker(faults, limits, stage, history)
        self._incarnations: list[Incarnation] = []
        self._snapshots: list[Snapshot] = []
        self._self_deaths = 0
        self._silent_deaths = 0
        self._first = first
        self._life = Life(first, self._began_s)
        self._left: tuple[Face, ...] = ()
        self._limit_from_s = self._began_s
        self._hung_on: tuple[str, ...] = ()

    def run(self) -> Course:
        """The whole trial. HarnessFailure when a part of killtest failed, which makes the trial UNKNOWN."""
        self._history.note("trial_started", self._began_s, faults=self._striker.planned())
        ending = None
        while ending is None:
            ending = self._incarnation()
        self._striker.drop_unreached(self._life)
        census = self._last_census()
        self._history.note("trial_ended", ending=ending, orphans=len(census.orphans), zombies=len(census.zombies))
        for _ in range(self._again if ending == "finished" else 0):
            self._left, self._limit_from_s = (), self._stage.now()
            self._incarnation(is_again=True)
            self._stage.launcher.end_subject()
        proper = [
            snapshot for snapshot, one in zip(self._snapshots, self._incarnations, strict=True) if not one.is_again
        ]
        if proper[-1].error is not None and ending == "finished":
            ending = "unreadable_store"
        return Course(
            ending,
            tuple(self._incarnations),
            tuple(self._striker.records),
            tuple(self._snapshots),
            census.orphans,
            census.zombies,
            self._self_deaths,
            self._began_s,
            tuple(sorted({port for face in census.orphans for port in face.ports})),
            self._hung_on if ending == "hung" else (),
            self._striker.revisions,
        )

    def _last_census(self) -> Census:
        """Who is left when the trial proper is over; all of them end then."""
        # What we have stopped would live on for that alone.
        self._stage.launcher.strike("CONT", "tree", self._limits.hold_s)
        census = self._stage.launcher.census(_SETTLE_S)
        self._stage.launcher.end_subject()
        return census

    def _incarnation(self, is_again: bool = False) -> Ending | None:
        number = self._first + len(self._incarnations)
        # Named before the border is drawn: what they open is theirs on either side of it.
        self._stage.site.elders(self._left)
        self._stage.site.begin(number)
        self._life = Life(number, self._stage.now())
        # Armed before the start: a fast subject's first request comes within a millisecond.
        self._striker.arm(self._life)
        self._life.begin(self._stage.launcher.start(self._stage.order(number)))
        self._history.note("started", self._life.started_s, incarnation=number, again=is_again)
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
            case "due" | "mark" | "step" if event["incarnation"] == life.number and life.is_armed:
                self._striker.hear(life, event)
            case "due" | "mark" | "step":
                self._let_go(event)
            case "gone" | "hold_expired" | "output_cut":
                self._history.note(event["event"], event["t_s"], **_rest(event))

    def _next_moment(self) -> float:
        life, limits = self._life, self._limits
        moments = [self._limit_from_s + limits.total_s, life.looked_s + limits.idle_s / _IDLE_LOOKS]
        timer_s, act_s = self._striker.timer_s(life), self._striker.act_s
        moments += [moment_s for moment_s in (timer_s, act_s) if moment_s is not None]
        if life.next_step_s is not None:
            moments.append(life.next_step_s)
        return min(moments)

    def _keep_time(self) -> None:
        """Do what has become due by the clock."""
        life, now_s = self._life, self._stage.now()
        timer_s = self._striker.timer_s(life)
        if life.exit is not None:
            return
        if self._striker.act_s is not None and now_s >= self._striker.act_s:
            self._striker.next_act(life)
        if life.next_step_s is not None and now_s >= life.next_step_s:
            self._striker.next_step(life)
        elif timer_s is not None and now_s >= timer_s:
            self._striker.strike_by_the_clock(life, timer_s)
        elif now_s >= self._limit_from_s + self._limits.total_s:
            self._give_up("out_of_time")
        elif now_s >= life.looked_s + self._limits.idle_s / _IDLE_LOOKS:
            self._look_for_activity(now_s)

    def _look_for_activity(self, now_s: float) -> None:
        life = self._life
        life.looked_s = now_s
        cpu_s, alive = self._stage.launcher.usage()
        requests = sum(self._stage.site.requests())
        # Down as well as up: the CPU seconds of a process that has ended may leave the sum with it.
        is_busy = abs(cpu_s - life.cpu_s) > _IDLE_CPU_SHARE * (now_s - life.active_s)
        # An open request is the site's to answer: a page slower than `idle_s` is no hang of the subject.
        waits_for_us = bool(self._stage.site.open())
        if requests != life.requests or waits_for_us or is_busy:
            life.requests, life.cpu_s, life.active_s = requests, cpu_s, now_s
        elif now_s - life.active_s >= self._limits.idle_s and not self._is_in_our_hands(life):
            self._is_idle(life, now_s, alive)

    def _is_in_our_hands(self, life: Life) -> bool:
        """Whether a fault is under way, which may be why nothing moves."""
        return life.struck is not None or life.next_step_s is not None or self._striker.act_s is not None

    def _is_idle(self, life: Life, now_s: float, alive: int) -> None:
        """Nothing has moved for `idle_s`: whoever we have paused goes on; if nobody is, it hangs."""
        resumed = self._stage.launcher.strike("CONT", "tree", self._limits.hold_s)
        if resumed.targets:
            self._history.note("resumed", incarnation=life.number, for_s=now_s - life.active_s, pids=resumed.targets)
            life.active_s = now_s
            return
        self._hung_on = self._stage.launcher.waits()
        facts: Event = {"processes": alive, "waits_for": self._hung_on}
        self._history.note("idle", incarnation=life.number, for_s=now_s - life.active_s, **facts)
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

    def _settle(self, is_again: bool) -> None:
        """Draw the border: earlier connections are in and closed, the store is read, the books are up to date."""
        life, stage = self._life, self._stage
        stage.site.disarm()
        stage.launcher.forget()
        passed = stage.site.fence()
        self._drain()
        self._left = left = stage.launcher.census().orphans
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
        self._life.is_armed = False
        while (event := self._stage.next_event(self._stage.now())) is not None:
            self._hear(event)

    def _let_go(self, event: Event) -> None:
        """A trigger came due when its incarnation had ended: nobody is struck."""
        stage, kind = self._stage, event["event"]
        {"due": stage.site.release, "mark": stage.launcher.release_mark, "step": stage.launcher.release_step}[kind]()
        what = f"mark {event['name']}" if kind == "mark" else event["path"]
        self._history.note("missed", event["t_s"], incarnation=event["incarnation"], path=what)

    def _decide(self) -> Ending | None:
        life = self._life
        if life.limit is not None:
            return life.limit
        if life.was_ended_by_fault:
            return None
        if life.exit == 0:
            return "finished"
        self._self_deaths += 1
        self._silent_deaths = self._silent_deaths + 1 if life.first_request_s is None else 0
        if self._self_deaths <= self._limits.restarts:
            return None
        return "refused_start" if self._silent_deaths >= self._self_deaths else "crash_loop"


def _rest(event: Event) -> Event:
    return {key: value for key, value in event.items() if key not in ("event", "t_s")}
