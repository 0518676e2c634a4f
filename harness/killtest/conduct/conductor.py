"""Run one trial: incarnation after incarnation, each fault at its moment, until the subject is done or given up on.

The conductor decides and waits; whoever starts processes, serves pages and reads stores is behind the
`Stage`, so that the tests can put a simulation with a clock of its own there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from killtest.conduct.activity import Activity
from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.conduct.striker import Field, Striker
from killtest.conduct.tries import Tries
from killtest.errors import HarnessFailure
from killtest.judge.evidence import Course, Ending, Incarnation
from killtest.plan.fault import Fault
from killtest.plan.manifest import Limits
from killtest.process.launcher import Census, Face, Order
from killtest.store.snapshot import Snapshot

Event = dict[str, Any]
# Helpers of a runtime (multiprocessing's resource tracker) end some 50 ms behind their main process.
_SETTLE_S = 1.0


class Stage(Field, Protocol):
    """The world a trial runs in: the striker's field, with events, orders and the store."""

    def next_event(self, until_s: float) -> Event | None:
        """The next event of the warden or the site; None once it is `until_s`."""

    def order(self, incarnation: int, instance: int = 0) -> Order:
        """How to start that incarnation of that copy."""

    def snapshot(self, incarnation: int) -> Snapshot:
        """What the store holds now; nobody writes to it meanwhile."""


@dataclass(frozen=True, slots=True)
class Starts:
    """How often the subject is started, faults apart.

    So many `instances` run side by side; each has incarnations of its own, numbered in the order of their starts, from
    `first` on: a stage may see several trials. Once the subject has finished it is started `again` so many times more.
    """

    instances: int = 1
    first: int = 0
    again: int = 0


class Conductor:
    """One trial in the making."""

    def __init__(
        self,
        faults: Sequence[Fault],
        limits: Limits,
        stage: Stage,
        history: History,
        starts: Starts = Starts(),
    ) -> None:
        """Conduct `faults` in order on `stage`."""
        self._limits = limits
        self._stage = stage
        self._history = history
        self._again = starts.again
        self._instances = range(starts.instances)
        self._began_s = stage.now()
        self._striker = Striker(faults, limits, stage, history)
        self._incarnations: list[Incarnation] = []
        self._snapshots: list[Snapshot] = []
        self._next = starts.first
        self._lives: dict[int, Life] = {}
        self._tries = {instance: Tries(limits.restarts) for instance in self._instances}
        self._activity = Activity(limits.idle_s, self._began_s)
        self._left: tuple[Face, ...] = ()
        self._limit_from_s = self._began_s
        self._hung_on: tuple[str, ...] = ()

    def run(self) -> Course:
        """The whole trial. HarnessFailure when a part of killtest failed, which makes the trial UNKNOWN."""
        self._history.note("trial_started", self._began_s, faults=self._striker.planned())
        self._striker.begin_throughout()
        ending = self._round()
        self._striker.drop_unreached()
        census = self._last_census()
        self._history.note("trial_ended", ending=ending, orphans=len(census.orphans), zombies=len(census.zombies))
        for _ in range(self._again if ending == "finished" else 0):
            self._left, self._limit_from_s = (), self._stage.now()
            self._round(is_again=True)
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
            sum(tries.deaths for tries in self._tries.values()),
            self._began_s,
            tuple(sorted({port for face in census.orphans for port in face.ports})),
            self._hung_on if ending == "hung" else (),
            self._striker.revisions,
            self._striker.errors,
        )

    def _last_census(self) -> Census:
        """Who is left when the trial proper is over; all of them end then."""
        # What we have stopped would live on for that alone.
        self._stage.launcher.strike("CONT", "tree", self._limits.hold_s)
        census = self._stage.launcher.census(_SETTLE_S)
        self._stage.launcher.end_subject()
        return census

    def _round(self, is_again: bool = False) -> Ending:
        """Start every copy, and each again that is to go on, until all have ended; how that came."""
        ending: Ending = "finished"
        for instance in self._instances:
            self._start(instance, is_again)
        while self._lives:
            ended = next((one for one in self._lives.values() if one.exit is not None), None)
            if ended is not None:
                ending = self._close(ended) or ending
                continue
            event = self._stage.next_event(self._next_moment())
            if event is not None:
                self._hear(event)
            self._keep_time()
        return ending

    def _start(self, instance: int, is_again: bool) -> None:
        number, self._next = self._next, self._next + 1
        peers = [one.number for one in self._lives.values()]
        # Named before the border is drawn: what they open is theirs on either side of it.
        self._stage.site.elders((*self._left, *self._stage.launcher.mains()) if peers else self._left)
        self._draw_border(number, peers)
        life = self._lives[instance] = Life(number, self._stage.now(), instance, is_again)
        # Armed before the start: a fast subject's first request comes within a millisecond.
        if not self._striker.begin(self._lives) and peers:
            self._stage.site.release()
        order = msgspec.structs.replace(self._stage.order(number, instance), peers=tuple(peers))
        life.started_s = self._stage.launcher.start(order)
        self._activity = Activity(self._limits.idle_s, life.started_s)
        copy = {"instance": instance} if len(self._instances) > 1 else {}
        self._history.note("started", life.started_s, incarnation=number, again=is_again, **copy)

    def _draw_border(self, number: int, peers: list[int]) -> None:
        """What connects from here on is that incarnation's. What has come due among its peers strikes before.

        Armed anew unheard, it would come due twice, and the next fault would strike in its place. The site stays
        frozen until the next one is armed: a peer's request in between would be the one that it waits for.
        """
        is_news = True
        while is_news:
            if peers:
                self._stage.site.freeze()
                self._stage.launcher.disarm_mark()
            self._stage.site.begin(number, peers)
            is_news = bool(peers) and self._drain()

    def _hear(self, event: Event) -> None:
        life = next((one for one in self._lives.values() if one.number == event.get("incarnation")), None)
        match event["event"]:
            case "exit" if life is not None:
                life.exit, life.ended_s = event["code"], event["t_s"]
            case "site_exit":
                running = ", ".join(str(one.number) for one in self._lives.values())
                raise HarnessFailure(f"the site ended with {event['code']} in incarnation {running}")
            case "first_request" if life is not None:
                life.first_request_s = event["t_s"]
                self._history.note("first_request", event["t_s"], incarnation=life.number)
            case "due" | "mark" | "step":
                # Which of them it is that requests or announces, and which is struck, may be two.
                armed = next((one for one in self._lives.values() if one.is_armed), None)
                # Marks count to the newest one, also behind its end when others run on.
                is_fresh = life is not None or (bool(self._lives) and event["incarnation"] == self._next - 1)
                if armed is not None and is_fresh:
                    self._striker.hear(armed, event)
                else:
                    self._let_go(event)
            case "misbehaved" | "call_failed" | "out_of_memory":
                self._striker.met(event)
            case "gone" | "hold_expired" | "output_cut":
                self._history.note(event["event"], event["t_s"], **_rest(event))

    def _next_moment(self) -> float:
        moments = [self._limit_from_s + self._limits.total_s, self._activity.next_look_s, self._striker.act_s]
        for life in self._lives.values():
            moments += [self._striker.timer_s(life), life.next_step_s]
        return min(moment_s for moment_s in moments if moment_s is not None)

    def _keep_time(self) -> None:
        """Do what has become due by the clock."""
        now_s = self._stage.now()
        running = [one for one in self._lives.values() if one.exit is None]
        for life in running:
            timer_s = self._striker.timer_s(life)
            if life.next_step_s is not None and now_s >= life.next_step_s:
                self._striker.next_step(life)
                return
            if timer_s is not None and now_s >= timer_s:
                self._striker.strike_by_the_clock(life, timer_s)
                return
        if not running:
            return
        if self._striker.act_s is not None and now_s >= self._striker.act_s:
            self._striker.next_act()
        elif now_s >= self._limit_from_s + self._limits.total_s:
            self._give_up("out_of_time")
        elif now_s >= self._activity.next_look_s:
            self._look_for_activity(now_s)

    def _look_for_activity(self, now_s: float) -> None:
        cpu_s, alive = self._stage.launcher.usage()
        site = self._stage.site
        is_idle = self._activity.look(now_s, cpu_s, sum(site.requests()), bool(site.open()))
        if is_idle and not self._is_in_our_hands():
            self._is_idle(now_s, alive)

    def _is_in_our_hands(self) -> bool:
        """Whether a fault is under way, which may be why nothing moves."""
        lives = self._lives.values()
        return self._striker.act_s is not None or any(one.struck or one.next_step_s is not None for one in lives)

    def _is_idle(self, now_s: float, alive: int) -> None:
        """Nothing has moved for `idle_s`: whoever we have paused goes on; if nobody is, it hangs."""
        number = self._eldest.number
        for_s = now_s - self._activity.active_s
        resumed = self._stage.launcher.strike("CONT", "tree", self._limits.hold_s)
        if resumed.targets:
            self._history.note("resumed", incarnation=number, for_s=for_s, pids=resumed.targets)
            self._activity.active_s = now_s
            return
        self._hung_on = self._stage.launcher.waits()
        facts: Event = {"processes": alive, "waits_for": self._hung_on}
        self._history.note("idle", incarnation=number, for_s=for_s, **facts)
        self._give_up("hung")

    @property
    def _eldest(self) -> Life:
        """The running incarnation that was started first."""
        return min(self._lives.values(), key=lambda one: one.number)

    def _give_up(self, ending: Ending) -> None:
        self._history.note("given_up", incarnation=self._eldest.number, ending=ending)
        for life in self._lives.values():
            if life.exit is None:
                life.limit = ending
        self._stage.launcher.end_subject()
        self._wait_for_exits()

    def _wait_for_exits(self) -> None:
        ends_s = self._stage.now() + self._limits.hold_s + 10
        while any(one.exit is None for one in self._lives.values()):
            event = self._stage.next_event(ends_s)
            if event is None:
                raise HarnessFailure(f"incarnation {self._eldest.number} was killed and its end was not seen")
            if event["event"] in ("exit", "misbehaved", "call_failed", "out_of_memory"):
                self._hear(event)

    def _close(self, life: Life) -> Ending | None:
        """An incarnation has ended: settle it and go on. The trial's ending, where it is another than finished."""
        self._settle(life)
        ending = self._tries[life.instance].decide(life)
        if ending is None and not life.is_again and not life.is_over:
            self._start(life.instance, is_again=False)
            return None
        if ending not in (None, "finished") and any(one.exit is None for one in self._lives.values()):
            self._give_up(ending)
        if self._lives:
            self._stage.site.elders((*self._left, *self._stage.launcher.mains()))
        self._striker.leave(life.instance)
        return None if life.is_again or ending == "finished" else ending

    def _settle(self, life: Life) -> None:
        """Draw the border: earlier connections are in and closed, the store is read, the books are up to date."""
        stage, peers = self._stage, [one for one in self._lives.values() if one is not life]
        self._striker.hand_over(life)
        if life.is_armed or not peers:
            stage.site.disarm()
            stage.launcher.forget()
        passed = stage.site.fence()
        life.is_armed = False
        self._drain()
        self._striker.settle(life)
        del self._lives[life.instance]
        self._left = left = stage.launcher.census().orphans
        if left or peers:
            stage.launcher.hold_still()
        snapshot = stage.snapshot(life.number)
        if left or peers:
            stage.launcher.go_on()
        self._snapshots.append(snapshot)
        self._incarnations.append(life.closed(self._began_s))
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

    def _drain(self) -> bool:
        """Take in what was still to be said, if anything; a trigger that came due too late is let go."""
        is_news = False
        while (event := self._stage.next_event(self._stage.now())) is not None:
            is_news = True
            self._hear(event)
        return is_news

    def _let_go(self, event: Event) -> None:
        """A trigger came due when its incarnation had ended: nobody is struck."""
        stage, kind = self._stage, event["event"]
        {"due": stage.site.release, "mark": stage.launcher.release_mark, "step": stage.launcher.release_step}[kind]()
        what = f"mark {event['name']}" if kind == "mark" else event["path"]
        self._history.note("missed", event["t_s"], incarnation=event["incarnation"], path=what)


def _rest(event: Event) -> Event:
    return {key: value for key, value in event.items() if key not in ("event", "t_s")}
