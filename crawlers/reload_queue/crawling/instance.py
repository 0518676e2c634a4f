"""An instance at work: holds the lease on its name, and keeps its workers alive until told to end."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import redis

from crawling import fingerprints, patience
from crawling.crawl_options import CrawlOptions
from crawling.crew import Crew, CrewLost, Ended
from crawling.event_log import Say
from crawling.handover import Handover
from crawling.marks import Marks
from crawling.respawn import Respawns
from crawling.task_queue import Seat, TaskQueue
from crawling.zygote import ORDERLY

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]
BEAT_S = 1.0
LOOK_S = 0.2  # between two looks at whether all is done, or whether a name is free
DEATHS = 3  # of its workers, after which a page is given up
HAND_BACK_S = 3.0
KILLED_S = 3.0  # for the process that forks to tell the ends of those that it killed
RELOAD, ALL_DONE, FENCED = "reload", "done", "fenced"


@dataclass(frozen=True)
class Burial:
    """A worker that died by itself, whose death is still to be counted."""

    slot: int
    name: str
    cause: str


class Instance:
    """`run` is for a thread of its own; `stop` and `hear` may be called from any."""

    def __init__(self, options: CrawlOptions, told: Handover, crew: Crew, queue: TaskQueue, say: Say) -> None:
        self.options, self.told, self.crew, self.queue, self.say = options, told, crew, queue, say
        self.digest = fingerprints.digest(told.prints)
        self.outage = patience.Outage(queue.address, say)
        self.marks = Marks()
        self.why = ""  # why to end; empty while not
        self.code = 1
        self.ended = threading.Event()
        self._deaths: list[Burial] = []
        self._respawns = Respawns()
        self._not_before_s = self._beat_due_s = self._look_due_s = 0.0
        self._every_s = min(BEAT_S, options.lease / 3)

    def run(self) -> None:
        """Work until told to end, or until all is done."""
        try:
            if self._claimed():
                self._open()
                while not self.why:
                    self._turn()
            self._close()
        except CrewLost:
            self.say("the process that forks the workers is gone or does nothing; they end with us")
        finally:
            self.ended.set()

    def stop(self, why: str) -> None:
        """End in order, for the first reason that is given."""
        self.why = self.why or why
        self.crew.wake()

    def hear(self, told: bytes) -> None:
        """What the outer main says: `stop SIGNAL`."""
        for word in told.decode().split():
            if word != "stop":
                self.stop(word)

    def _claimed(self) -> bool:
        """Wait until the name is ours; False when told to end before that."""
        waiting = False
        while not self.why:
            about = self._about("running")
            reply = self._try(
                lambda about=about: self.queue.claim(
                    self.options.instance, self.told.token, self.options.lease, self.options.workers, about
                )
            )
            if reply and reply[0] == "ok":
                if reply[1]:
                    self.say(f"{reply[1]} tasks of slots that are no more were queued again")
                return True
            if reply and reply[0] == FENCED:
                self.stop(FENCED)
            elif reply and not waiting:
                waiting = True
                self.say(
                    f"another main runs as {self.options.instance}, or died within the last {self.options.lease:g} s;"
                    " waiting until its lease runs out (--instance gives another name)"
                )
            self.crew.ended(LOOK_S)
        return False

    def _open(self) -> None:
        for slot in range(self.options.workers):
            self._start(slot)
        self._beat_due_s = time.monotonic() + self._every_s
        self.say(f"generation {self.told.generation} runs, {self.options.workers} workers, digest {self.digest[:12]}")
        self.marks.reach("ready")

    def _turn(self) -> None:
        """Everything that is due now, then a pause until something is."""
        self._beat()
        self._bury()
        self._respawn()
        if self.options.until_done and self._is_due("_look_due_s", LOOK_S) and self._try(self.queue.done):
            self.stop(ALL_DONE)
        if not self.why:
            for end in self.crew.ended(self._pause_s()):
                self._mourn(end)

    def _pause_s(self) -> float:
        due_s = [self._beat_due_s, self._respawns.next_s(self._uncounted())]
        if self._deaths:
            due_s.append(self._not_before_s)
        if self.options.until_done:
            due_s.append(self._look_due_s)
        return max(0.0, min(due_s) - time.monotonic())

    def _is_due(self, name: str, every_s: float) -> bool:
        now_s = time.monotonic()
        if now_s < getattr(self, name):
            return False
        setattr(self, name, now_s + every_s)
        return True

    def _beat(self) -> None:
        """Renew the lease, and queue again what instances hold that did not renew theirs."""
        if not self._is_due("_beat_due_s", self._every_s):
            return
        name, token = self.options.instance, self.told.token
        reply = self._try(lambda: self.queue.beat(name, token, self.options.lease, self._about("running")))
        if reply is None:
            self._beat_due_s = self._not_before_s
            return
        state, taken = reply
        if state == FENCED:
            self.say(f"another main has become {name}")
            self.stop(FENCED)
        if state == "lapsed":
            self.say("the lease had run out; renewed")
        for dead, count in taken.items():
            self.say(f"took over {count} tasks of {dead}, whose lease ran out")
        self.marks.reach("beat")

    def _mourn(self, end: Ended) -> None:
        """A worker ended: another takes its slot, later if that happens again and again."""
        self._respawns.ended(end.slot)
        if end.code != ORDERLY:
            cause = signal.Signals(-end.code).name if end.code < 0 else f"exit code {end.code}"
            self._deaths.append(Burial(end.slot, f"{self.told.token}:{end.slot}:{end.pid}:{time.monotonic()}", cause))

    def _bury(self) -> None:
        """Count deaths for the pages that the dead held; before their slots are filled again."""
        while self._deaths:
            dead = self._deaths[0]
            seat = self._seat(dead.slot)
            reply = self._try(partial(self.queue.death, seat, dead.name, DEATHS, dead.cause))
            if reply is None:
                return
            self._deaths.pop(0)
            task, deaths = reply
            held = f"; it held {task} (death {deaths} of it{', given up' if deaths >= DEATHS else ''})" if task else ""
            self.say(f"worker {dead.slot} died ({dead.cause}){held}")

    def _respawn(self) -> None:
        for slot in self._respawns.due(self._uncounted()):
            self._start(slot)

    def _start(self, slot: int) -> None:
        self._respawns.started(slot)
        self.crew.start(slot)

    def _uncounted(self) -> set[int]:
        return {dead.slot for dead in self._deaths}

    def _seat(self, slot: int) -> Seat:
        return Seat(self.options.instance, self.told.token, slot)

    def _close(self) -> None:
        """End the workers: idle ones at once, busy ones when their page is done, or at the end of the grace time."""
        there = len(self.crew.busy)
        self.crew.dismiss()
        self.say(f"stopping ({self.why}); {there} workers may finish their page within {self.options.grace:g} s")
        until_s = time.monotonic() + self.options.grace
        while self.crew.busy and (left_s := until_s - time.monotonic()) > 0:
            self.crew.ended(min(left_s, self._every_s))
            self._beat()
        cut = len(self.crew.busy)
        self.crew.kill()
        until_s = time.monotonic() + KILLED_S
        while self.crew.busy:
            if time.monotonic() > until_s:  # it was stopped, say; the workers end with us whatever it does
                raise CrewLost
            self.crew.ended(self._every_s)
        self.crew.close()
        self.say(f"old workers ended ({there - cut} finished, {cut} cut)")
        if self.why == RELOAD:
            self._not_before_s = 0.0
            self._try(self._keep)
        elif self.why != FENCED:
            self._hand_back()
        self.code = _exit_code(self.why)

    def _keep(self) -> None:
        """One more beat: the lease must last until the next generation has it."""
        self.queue.beat(self.options.instance, self.told.token, self.options.lease, self._about("reloading"))

    def _hand_back(self) -> None:
        until_s = time.monotonic() + HAND_BACK_S
        name, token, about = self.options.instance, self.told.token, self._about("stopped")
        try:
            given = patience.insist(
                lambda: self.queue.release(name, token, about), self.outage, until=lambda: time.monotonic() > until_s
            )
        except patience.GivenUp:
            self.say("the queue could not be told of the end; others take over when the lease runs out")
            return
        self.say(f"ended ({self.why}); {given} tasks handed back")

    def _try(self, attempt: Callable[[], Result]) -> Result | None:
        """Do something with the queue now; None if it does not answer, or did not a moment ago."""
        now_s = time.monotonic()
        if now_s < self._not_before_s:
            return None
        try:
            result = attempt()
        except redis.RedisError as error:
            self._not_before_s = now_s + self.outage.failed(error)
            return None
        self.outage.answered()
        return result

    def _about(self, state: str) -> str:
        return json.dumps(
            {
                "state": state,
                "generation": self.told.generation,
                "reloads": self.told.reloads,
                "digest": self.digest,
                "folder": str(ROOT),
                "workers": self.options.workers,
            }
        )


def _exit_code(why: str) -> int:
    """What the process ends with: 0 when all is done, 128 + its number after a signal."""
    if why in (RELOAD, ALL_DONE, FENCED):
        return {RELOAD: 3, ALL_DONE: 0, FENCED: 1}[why]
    return 128 + signal.Signals[why]
