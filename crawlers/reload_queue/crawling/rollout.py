"""Giving a change to all instances, one code folder after another, each only when the one before runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from crawling import code_check, fingerprints, overlay, patience, progress
from crawling.change import BadChange, Change, Content
from crawling.task_queue import TaskQueue

LOOK_S = 0.1
NO_JOB = " "  # no job has that id: it is the instances that are of interest
ALIVE = ("running", "reloading")


class NotTaken(Exception):
    """An instance did not take the change; the text says why."""


class Interrupted(Exception):
    """Somebody wants the push to end."""


@dataclass(frozen=True)
class Turn:
    """The instances that run from one code folder, and the files to be laid over it."""

    root: Path
    names: tuple[str, ...]
    files: dict[str, Content]


@dataclass(frozen=True)
class Plan:
    """All turns, in the order of the instances' names; `away` are those that do not run, with the reason."""

    turns: list[Turn]
    away: dict[str, str]
    lapsed: list[str]


def plan(change: Change, found: Iterable[progress.Instance]) -> Plan:
    """Who is to get what; nothing is written. Raises BadChange."""
    folders: dict[Path, list[str]] = {}
    away, lapsed = {}, []
    for one in found:
        if one.state in ALIVE:
            folders.setdefault(Path(one.folder).resolve(), []).append(one.name)
        else:
            away[one.name] = _absence(one)
            lapsed += [one.name] if one.state == "lost" else []
    turns = [Turn(root, tuple(names), change.at(root)) for root, names in folders.items()]
    return Plan(turns, away, lapsed)


@dataclass
class Rollout:
    """A push under way. `stopped` is asked whether to end it; `changed` and `unchanged` are names of instances."""

    queue: TaskQueue
    timeout_s: float
    say: Callable[[str], object]
    stopped: Callable[[], bool]
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    lapsed: list[str] = field(default_factory=list)

    def run(self, planned: Plan) -> None:
        """Do all turns. Raises NotTaken or Interrupted; the folder of that turn is then as it was before."""
        self.lapsed = list(planned.lapsed)
        self.unchanged = [name for turn in planned.turns for name in turn.names]
        for name, why in planned.away.items():
            self.say(f"{name}: skipped, {why}")
        for turn in planned.turns:
            if self.stopped():
                raise Interrupted
            self._turn(turn)

    def _turn(self, turn: Turn) -> None:
        before = self._instances(turn.names, time.monotonic() + self.timeout_s)
        alive = [one for one in before.values() if one.state in ALIVE]
        for one in before.values():
            if one not in alive:
                self._skip(one)
        if not alive:
            return
        laid = self._lay(turn, alive)
        started_s = time.monotonic()
        try:
            self._wait(turn, alive, started_s, len(laid.new))
        except (NotTaken, Interrupted) as error:
            self._put_back(laid, alive, str(error) or "interrupted")
            raise

    def _lay(self, turn: Turn, alive: list[progress.Instance]) -> overlay.Overlay:
        try:
            laid = overlay.over(turn.root, turn.files)
            laid.lay()
        except (BadChange, OSError) as error:
            self.say(f"{_names(alive)}: not changed, {error}")
            raise NotTaken from error
        return laid

    def _wait(self, turn: Turn, alive: list[progress.Instance], started_s: float, files: int) -> None:
        """Until all instances of a folder run what is in it."""
        wanted = fingerprints.digest(fingerprints.take(turn.root))
        # The instance checks it too, and goes on with its old code; but it does not say so to the queue.
        if files and (complaint := code_check.complaint(turn.root)):
            raise Interrupted if self.stopped() else NotTaken(f"refused: {complaint}")
        for old in alive:
            self._wait_for(old, wanted, started_s)
            took_s = time.monotonic() - started_s
            self.unchanged.remove(old.name)
            self.changed.append(old.name)
            self.say(f"{old.name}: {_amount(files)}, {_move(old.digest, wanted)}{_when(old.digest, wanted, took_s)}")

    def _wait_for(self, old: progress.Instance, wanted: str, started_s: float) -> None:
        deadline_s = started_s + self.timeout_s
        while True:
            now = self._instances([old.name], deadline_s)[old.name]
            if now.state == "running" and now.digest == wanted:
                return
            if now.state == "stopped":
                raise NotTaken(f"{old.name} {_absence(now)}")
            if time.monotonic() >= deadline_s:
                raise NotTaken(f"{old.name} {self._lateness(now)}")
            self._pause(LOOK_S)

    def _lateness(self, now: progress.Instance) -> str:
        """Why time is up."""
        if now.state == "lost":
            return _absence(now)
        if now.state == "reloading":
            return f"ended its old code, but does not run the new one after {self.timeout_s:g} s"
        return f"still runs {now.digest[:12]} after {self.timeout_s:g} s (was it started with --reload?)"

    def _instances(self, names: Iterable[str], deadline_s: float) -> dict[str, progress.Instance]:
        """What the queue knows of some instances now; waits for the queue. Raises NotTaken, or Interrupted."""
        try:
            found = patience.insist(
                lambda: progress.read(self.queue.client, NO_JOB),
                patience.Outage(self.queue.address, self.say),
                until=lambda: time.monotonic() >= deadline_s,
                sleep=self._pause,
            )
        except patience.GivenUp as error:
            raise NotTaken(f"queue {self.queue.address} does not answer ({error})") from error
        wanted = set(names)
        return {one.name: one for one in found.instances if one.name in wanted}

    def _pause(self, wait_s: float) -> None:
        """Sleep in slices, since a signal does not wake a sleep. Raises Interrupted."""
        until_s = time.monotonic() + wait_s
        while True:
            if self.stopped():
                raise Interrupted
            if (left_s := until_s - time.monotonic()) <= 0:
                return
            time.sleep(min(left_s, LOOK_S))

    def _skip(self, one: progress.Instance) -> None:
        """For an instance that has gone since the push began."""
        self.say(f"{one.name}: skipped, {_absence(one)}")
        self.unchanged.remove(one.name)
        if one.state == "lost":
            self.lapsed.append(one.name)

    def _put_back(self, laid: overlay.Overlay, alive: list[progress.Instance], why: str) -> None:
        """Those of this folder that ran the new code already go back as well."""
        try:
            laid.put_back()
            end = "the old files are back" if laid.new else "its files had been changed before"
        except OSError as error:
            end = f"the old files could not be put back: {error}"
        back = [one.name for one in alive]
        self.unchanged = [*(name for name in back if name in self.changed), *self.unchanged]
        self.changed = [name for name in self.changed if name not in back]
        self.say(f"{_names(alive)}: {_amount(len(laid.new))}, {why}; {end}")


def _names(instances: Iterable[progress.Instance]) -> str:
    return ", ".join(one.name for one in instances)


def _absence(one: progress.Instance) -> str:
    if one.state == "stopped":
        return "it has ended"
    return f"its lease ran out: not heard of for {one.beat_age_s:.0f} s"


def _amount(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"


def _move(old: str, new: str) -> str:
    return f"digest {new[:12]} as before" if old == new else f"digest {old[:12]} → {new[:12]}"


def _when(old: str, new: str, took_s: float) -> str:
    return "" if old == new else f", runs after {took_s:.1f} s"
