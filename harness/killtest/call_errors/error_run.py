"""Explore a subject's errors: record, choose the calls that fail, run each, judge (docs/explore.md)."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from killtest.call_errors import error_point
from killtest.call_errors.error_bench import ErrorBench, Tried
from killtest.call_errors.error_point import ErrorPoint
from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.campaigns.trial_line import reproduce
from killtest.explore import exploration, explore_run, recording, recovery
from killtest.explore.explore_run import Order, Teller
from killtest.explore.recording import Recording
from killtest.halt import Halt
from killtest.judge import causes, verdict
from killtest.judge.course import Course
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Control, Outcome
from killtest.plan.campaign import Planned, site_of
from killtest.plan.schedule import Schedule

# What became of the incarnation whose call failed: it stopped and named the cause, or did not, it went on to its end
# and exit code 0, it was given up on (hung, out of time), or the call was not reached.
Reaction = Literal["named", "not_named", "went_on", "given_up", "not_reached"]
REACTIONS: tuple[Reaction, ...] = ("named", "not_named", "went_on", "given_up", "not_reached")


class JudgedError(msgspec.Struct, frozen=True):
    """An error point with its verdict; `exit` is the code of the incarnation whose call failed, None without one.

    `calls` is how many failed; `is_elsewhere`: the n-th call of that name was another one than in the recording.
    `recovered`: whatever it said, it finished with the right rows.
    """

    point: ErrorPoint
    outcome: Outcome
    findings: Mapping[str, int]
    ending: str
    reaction: Reaction
    exit: int | None
    calls: int
    requests: int
    starts: int
    recovered: bool
    is_elsewhere: bool = False

    @property
    def wrong(self) -> str:
        """What is wrong, in words."""
        return ", ".join([*self.findings, *([self.ending.replace("_", " ")] if self.ending != "finished" else [])])


class ErrorExploration(msgspec.Struct, frozen=True):
    """Every point that was tried, of `possible` ones in a recording of `steps` steps, and how long each part took."""

    judged: Sequence[JudgedError]
    possible: int
    steps: int
    notes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def outcome(self) -> Outcome:
        """The worst of its points; without any nothing is known."""
        return verdict.worst([one.outcome for one in self.judged]) if self.judged else "UNKNOWN"


def run(order: Order, is_every: bool, folder: CampaignFolder, teller: Teller) -> ErrorExploration:
    """Try the chosen points, every one with `is_every`; what is found is also on disk in the folder."""
    explore_run.check_explorable(order.subject)
    site = site_of(order.subject.site, order.site, order.subject.name)
    began_s = time.monotonic()
    with teller.stage("recording one undisturbed crawl", 1):
        taken = recording.record(order.subject, site, folder.path / "record", Halt())
    control = explore_run.control_of(order.subject, taken, order.site)
    found = error_point.points(taken.steps, taken.requests, taken.begin)
    tried = found if is_every else error_point.chosen(found)
    seconds = {"record": time.monotonic() - began_s}
    began_s = time.monotonic()

    def opened(place: Path, halt: Halt) -> ErrorBench:
        bench = ErrorBench(order.subject, site, place, taken, halt)
        bench.stage.clock_s = order.clock_s
        return bench

    keyed = {point.fault.encode(): point for point in tried}
    with teller.stage("a crawl for every failing call", len(keyed)) as done:
        results = recovery.recover_all(keyed, recovery.Benches(folder.path, opened, explore_run.jobs_of(order)), done)
    seconds["crawls"] = time.monotonic() - began_s
    judged = [_judged(point, results[key], taken, control) for key, point in keyed.items()]
    result = ErrorExploration(judged, len(found), len(taken.steps), _notes(order, judged, len(found)), seconds)
    write(result, order, folder.path)
    return result


def _judged(point: ErrorPoint, tried: Tried, taken: Recording, control: Control) -> JudgedError:
    answer = verdict.judge(
        Evidence(tried.course, taken.truth, tried.requests, 1, is_control=False, effects=taken.effects), control
    )
    assert answer.traffic is not None
    findings, errors = exploration.counts(answer), tried.course.errors
    by_itself = {name: count for name, count in findings.items() if name != "unexplained"}
    step, first = point.step, errors[0] if errors else None
    return JudgedError(
        point=point,
        outcome=answer.outcome,
        findings=findings,
        ending=tried.course.ending,
        reaction=_reaction(tried.course),
        exit=tried.course.incarnations[first.incarnation].exit if first else None,
        calls=sum(one.calls for one in errors),
        requests=answer.traffic.requests,
        starts=len(tried.course.incarnations),
        recovered=tried.course.ending == "finished" and not by_itself,
        is_elsewhere=first is not None and (first.call, first.path) != (step.call, step.path),
    )


def _reaction(course: Course) -> Reaction:
    if not course.errors:
        return "not_reached"
    first = course.errors[0]
    ended = course.incarnations[first.incarnation]
    if ended.ended_by == "limit":
        return "given_up"
    if causes.stopped(first, course.incarnations) is None:
        return "went_on"
    return "named" if causes.is_named(first) else "not_named"


def _notes(order: Order, judged: Sequence[JudgedError], possible: int) -> tuple[str, ...]:
    notes = list(explore_run.notes_of(order))
    if len(judged) < possible:
        notes.append(f"{len(judged)} of {possible} error points were tried, three of each kind: --every tries them all")
    missed = sum(one.reaction == "not_reached" for one in judged)
    if missed:
        notes.append(f"{missed} planned calls were not reached: its calls do not come in the same order each time")
    elsewhere = sum(one.is_elsewhere for one in judged)
    if elsewhere:
        notes.append(f"{elsewhere} of the calls that failed were on another file than in the recording")
    return tuple(notes)


def reproduce_at(point: ErrorPoint, order: Order) -> str:
    """The command that has this call fail."""
    planned = Planned(order.subject, Schedule("error", (point.fault,)))
    return reproduce(planned, "", campaign_run.site_words(planned, order.site))


def rows(judged: Sequence[JudgedError]) -> dict[tuple[str, str], list[JudgedError]]:
    """The points by errno and how long it lasts."""
    found: dict[tuple[str, str], list[JudgedError]] = {}
    for one in judged:
        found.setdefault(one.point.row, []).append(one)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], item[0][1] != "once")))


def groups(judged: Sequence[JudgedError]) -> list[tuple[str, str, list[JudgedError]]]:
    """The failing points by call, file and phase, and what is wrong, the first of each first."""
    found: dict[tuple[str, str], list[JudgedError]] = {}
    for one in judged:
        if one.outcome == "FAIL":
            found.setdefault((one.point.what, one.wrong), []).append(one)
    return [(*key, members) for key, members in found.items()]


def exits(members: Sequence[JudgedError]) -> dict[str, int]:
    """How often each exit code came."""
    return {str(code): count for code, count in sorted(Counter(m.exit for m in members if m.exit is not None).items())}


def summary(result: ErrorExploration) -> dict[str, Any]:
    """The exploration in figures."""
    return {
        "schema": 1,
        "outcome": result.outcome,
        "steps": result.steps,
        "possible": result.possible,
        "points": len(result.judged),
        "failing": sum(one.outcome == "FAIL" for one in result.judged),
        "unknown": sum(one.outcome == "UNKNOWN" for one in result.judged),
        "requests_most": max((one.requests for one in result.judged), default=0),
        "rows": [
            {"errno": errno, "lasts": lasts, "points": len(members), "exits": exits(members)}
            | {name: sum(one.reaction == name for one in members) for name in REACTIONS}
            | {"recovered": sum(one.recovered for one in members)}
            | {"failing": sum(one.outcome == "FAIL" for one in members)}
            for (errno, lasts), members in rows(result.judged).items()
        ],
        "notes": result.notes,
        "seconds": {name: round(value, 2) for name, value in result.seconds.items()},
    }


def write(result: ErrorExploration, order: Order, folder: Path) -> None:
    """The points as errors.jsonl, and the rest as errors.json."""
    lines = (msgspec.json.encode(_line(one, order)) + b"\n" for one in result.judged)
    (folder / "errors.jsonl").write_bytes(b"".join(lines))
    (folder / "errors.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary(result)), indent=1) + b"\n")


def _line(one: JudgedError, order: Order) -> dict[str, Any]:
    step = one.point.step
    facts = {"k": step.k, "fault": one.point.fault, "call": step.call, "path": step.path, "what": one.point.what}
    names = [name for name in one.__struct_fields__ if name != "point"]
    facts |= {"model": " ".join(one.point.row), "reproduce": reproduce_at(one.point, order)}
    return facts | {"last_request": one.point.last_request} | {name: getattr(one, name) for name in names}
