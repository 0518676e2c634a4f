"""Explore a subject: record, derive, recover, judge, and confirm what fails by true kills (docs/explore.md)."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.campaigns.campaign_run import Watcher
from killtest.campaigns.trial_line import Line, effect_findings, reproduce
from killtest.errors import UsageError
from killtest.explore import disk, exploration, recording, recovery
from killtest.explore.crash_point import CrashPoint, points
from killtest.explore.exploration import Judged, judge_all
from killtest.explore.logical import Reader
from killtest.explore.recording import Recording
from killtest.halt import Halt
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Control
from killtest.plan import campaign
from killtest.plan.campaign import Planned, Spec, site_of
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.plan.schedule import Rule, Schedule
from killtest.process import clock, isolation


class Teller(Protocol):
    """Told how far an exploration is."""

    def stage(self, words: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """A part begins that has `total` steps; call what is given after each, from any thread."""

    def campaign(self) -> AbstractContextManager[Watcher]:
        """Somebody to watch the true kills."""


class Order(msgspec.Struct, frozen=True):
    """What to explore.

    `raw` keeps states apart that are the same for SQLite; `clock_s` is how far each start's wall clock is ahead of the
    one before, so that leases have lapsed; at most `confirm` groups of failing points are confirmed (None: all).
    `is_derived_only`: no point is tried by a true kill, not even where the recording is not trusted.
    """

    subject: Subject
    site: dict[str, Any]
    argv: list[str]
    jobs: int = 2
    raw: bool = False
    clock_s: float = 3600.0
    confirm: int | None = None
    is_derived_only: bool = False


class Exploration(msgspec.Struct, frozen=True):
    """Every point judged, how many states there were, what could not be trusted, how long each part took."""

    judged: Sequence[Judged]
    states: int
    groups: int
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    lines: Sequence[Line]

    @property
    def outcome(self) -> str:
        """FAIL when a point failed in a true kill, UNKNOWN when none that failed could be tried by one, else PASS."""
        failing = [one for one in self.judged if one.outcome == "FAIL"]
        if any(one.confirmed for one in failing):
            return "FAIL"
        is_known = self.judged and all(one.outcome == "PASS" for one in self.judged)
        return "PASS" if is_known else "UNKNOWN"


def check_explorable(who: Subject) -> None:
    """UsageError for a subject whose store folder is not its whole state, or whose steps have no one order."""
    if who.services:
        raise UsageError(
            f"{who.name} keeps state in a service ({', '.join(who.services)}): a snapshot of its folder is not the "
            "whole state, so its steps can't be explored; killtest sweep kills it at every request"
        )
    if who.instances > 1:
        raise UsageError(
            f"{who.name} runs as {who.instances} copies: the order of their steps differs from crawl to crawl, so they "
            "can't be explored; killtest sweep kills it at every request"
        )


def run(order: Order, folder: CampaignFolder, teller: Teller) -> Exploration:
    """Explore, in the new folder; what is found is also on disk there."""
    check_explorable(order.subject)
    site = site_of(order.subject.site, order.site, order.subject.name)
    judged: list[Judged] = []
    lines: list[Line] = []
    seconds: dict[str, float] = {}
    began_s = time.monotonic()
    with teller.stage("recording one undisturbed crawl", 1):
        taken = recording.record(order.subject, site, folder.path / "record", Halt())
    control = control_of(order.subject, taken, order.site)
    seconds["record"], began_s = time.monotonic() - began_s, time.monotonic()
    group = disk.digest if order.raw else Reader(folder.path / "scratch").digest
    found, trees = points(taken.steps, taken.requests, group, taken.begin)
    seconds["derive"], began_s = time.monotonic() - began_s, time.monotonic()
    if taken.doubts and order.is_derived_only:
        judged, lines = [], []
    elif taken.doubts:
        judged, lines = _by_true_kills(order, found, folder, teller)
    else:
        with teller.stage("starting the crawler on every state", len(trees)) as done:
            recoveries = recovery.recover_all(trees, benches_of(order, site, folder.path, taken), done)
        derived = judge_all(found, recoveries, taken, control)
        seconds["recover"], began_s = time.monotonic() - began_s, time.monotonic()
        judged, lines = (derived, []) if order.is_derived_only else _confirmed(order, derived, folder, teller)
    seconds["true kills"] = time.monotonic() - began_s
    states = len({point.state for point in found})
    result = Exploration(judged, states, len(trees), taken.doubts, notes_of(order), seconds, lines)
    write(result, order, folder.path)
    return result


def control_of(who: Subject, taken: Recording, changes: dict[str, Any]) -> Control:
    """The recorded crawl is the control; UsageError when it fails, for then no kill is to blame."""
    alone = Planned(who, Schedule("control"), is_control=True)
    found = Evidence(taken.course, taken.truth, taken.requests, 0, is_control=True, effects=taken.effects)
    answer = verdict.judge(found)
    if answer.outcome != "PASS" or answer.traffic is None:
        raise UsageError(
            f"{who.name} fails without any fault ({taken.course.ending}) while its calls are watched; without that: "
            f"{reproduce(alone, '', campaign_run.site_words(alone, changes))}"
        )
    return Control("PASS", answer.traffic.requests)


def jobs_of(order: Order) -> int:
    """How many crawls go side by side here."""
    # Without namespaces two sites side by side would have different ports, and stored URLs would not be valid.
    return order.jobs if isolation.prefix() else 1


def benches_of(
    order: Order, site: SiteNeeds, place: Path, taken: Recording
) -> recovery.Benches[disk.Tree, recovery.Recovery]:
    """The benches, below `place`, for states of the recording."""

    def opened(folder: Path, halt: Halt) -> recovery.Bench:
        return recovery.Bench(order.subject, site, folder, taken.store, order.clock_s, halt)

    return recovery.Benches(place, opened, jobs_of(order))


def notes_of(order: Order) -> tuple[str, ...]:
    """What this machine could not do."""
    notes = []
    if order.clock_s and clock.library() is None:
        notes.append("leases were waited for on the real clock: pip install 'killtest[explore]' brings another one")
    if not isolation.prefix():
        notes.append("no namespaces: states were recovered at another path and port than they were recorded at")
    return tuple(notes)


def _confirmed(
    order: Order, judged: Sequence[Judged], folder: CampaignFolder, teller: Teller
) -> tuple[list[Judged], list[Line]]:
    """A true kill at the first point of each failing group; its verdict must be the derived one."""
    first: dict[tuple[bytes, str], Judged] = {}
    for one in judged:
        if one.outcome == "FAIL" and one.point.trigger is not None:
            first.setdefault((one.point.group, one.kind), one)
    chosen = list(first.values())[: order.confirm]
    lines = kill_at([one.point for one in chosen], order, folder, teller)
    by_name = {line["schedule"]["name"]: line for line in lines}
    same = {
        (one.point.group, one.kind): agrees(one, by_name[name_of(one.point)])
        for one in chosen
        if name_of(one.point) in by_name
    }
    marked = [
        msgspec.structs.replace(one, confirmed=same.get((one.point.group, one.kind))) if one.outcome == "FAIL" else one
        for one in judged
    ]
    return marked, lines


def _by_true_kills(
    order: Order, found: Sequence[CrashPoint], folder: CampaignFolder, teller: Teller
) -> tuple[list[Judged], list[Line]]:
    """Every point by a true kill, for a recording that does not explain the disk. Behind the last step none can be."""
    lines = kill_at(found, order, folder, teller)
    by_name = {line["schedule"]["name"]: line for line in lines}
    judged = []
    for point in found:
        line = by_name.get(name_of(point)) if point.trigger is not None else None
        if line is not None:
            judged.append(_of_line(point, line))
    return judged, lines


def _of_line(point: CrashPoint, line: Line) -> Judged:
    """A point as a true kill showed it: UNKNOWN where it did not strike."""
    if line["outcome"] == "UNKNOWN" or line["data"] is None:
        return Judged(point, "UNKNOWN", {}, line["ending"] or "finished", 0, 0)
    starts, requests = len(line["incarnations"]) - 1, line["traffic"]["requests"]
    return Judged(point, line["outcome"], _counts(line), line["ending"], requests, starts, confirmed=True)


def name_of(point: CrashPoint) -> str:
    """The name of the schedule that kills at this point."""
    return f"step-{point.k}"


def kill_at(chosen: Sequence[CrashPoint], order: Order, folder: CampaignFolder, teller: Teller) -> list[Line]:
    """True kills at these points, as a campaign in the folder: its lines."""
    rules = tuple(
        Rule(group=name_of(point), faults=(f"{point.trigger} KILL",)) for point in chosen if point.trigger is not None
    )
    who = order.subject
    spec = Spec(folder.path.name, (who.name,), rules, controls=1, again=0, site=order.site)
    folder.settle(campaign.text_of(spec, "The true kills of `killtest explore`."), spec, order.argv)
    with teller.campaign() as watcher:
        return campaign_run.run(spec, {who.name: who}, folder, watcher, order.jobs)


def reproduce_at(point: CrashPoint, order: Order) -> str:
    """The command that kills at this point, by a true kill."""
    planned = Planned(order.subject, Schedule(name_of(point), (f"{point.trigger} KILL",)))
    return reproduce(planned, "", campaign_run.site_words(planned, order.site))


def agrees(one: Judged, line: Line) -> bool:
    """Whether a true kill came out as the derived state did: ending, and how many keys each finding has."""
    if line["data"] is None or not any(fault["status"] != "not_reached" for fault in line["faults"]):
        return False
    return (line["ending"], _counts(line)) == (one.ending, dict(one.findings))


def _counts(line: Line) -> dict[str, int]:
    counts = {name: line["data"][name]["count"] for name in exploration.FINDINGS if name in line["data"]}
    counts |= {name: found["count"] for name, found in effect_findings(line).items()}
    return {name: count for name, count in counts.items() if count}


def write(result: Exploration, order: Order, folder: Path) -> None:
    """The points as points.jsonl, and the rest as explored.json."""
    rows = [row(one, order) for one in result.judged]
    (folder / "points.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / "explored.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary(result)), indent=1) + b"\n")


def summary(result: Exploration) -> dict[str, Any]:
    """The exploration in figures."""
    failing = [one for one in result.judged if one.outcome == "FAIL"]
    return {
        "schema": 1,
        "outcome": result.outcome,
        "points": len(result.judged),
        "states": result.states,
        "groups": result.groups,
        "failing": len(failing),
        "unknown": sum(one.outcome == "UNKNOWN" for one in result.judged),
        "confirmed": sum(one.confirmed is True for one in failing),
        "not_confirmed": sum(one.confirmed is False for one in failing),
        "requests_most": max((one.requests for one in result.judged), default=0),
        "doubts": result.doubts,
        "notes": result.notes,
        "seconds": {name: round(value, 2) for name, value in result.seconds.items()},
    }


def row(one: Judged, order: Order | None = None) -> dict[str, Any]:
    """A point as its line says it; `order` for one that a command can reproduce."""
    point, step = one.point, one.point.step
    return {
        "k": point.k,
        "trigger": point.trigger,
        "call": step.call if step else None,
        "path": step.path if step else None,
        "size": len(step.data) if step and step.data else None,
        "offset": step.offset if step else None,
        "requests_before": point.requests,
        "last_request": point.last_request,
        "phase": point.phase,
        "state": point.state.hex(),
        "group": point.group.hex(),
        "outcome": one.outcome,
        "ending": one.ending,
        "findings": one.findings,
        "requests": one.requests,
        "starts": one.starts,
        "confirmed": one.confirmed,
        "files": point.files,
        "reproduce": reproduce_at(point, order) if order and point.trigger else None,
    }
