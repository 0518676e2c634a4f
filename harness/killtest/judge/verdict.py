"""The verdict: PASS, FAIL or UNKNOWN with findings and costs, from evidence alone (docs/verdict.md)."""

from typing import Literal

import msgspec

from killtest.judge import effects, ending, oracle, traffic
from killtest.judge.course import Course
from killtest.judge.effects import Effects
from killtest.judge.evidence import Evidence
from killtest.judge.lapses import Watch
from killtest.judge.oracle import Data
from killtest.judge.traffic import Traffic

Outcome = Literal["PASS", "FAIL", "UNKNOWN"]
Cause = Literal["faults", "control", "harness"]


class Verdict(msgspec.Struct, frozen=True):
    """The judge's answer.

    `cause` says whom it is about: the faults, the subject without faults (`control`), or killtest itself
    (`harness`); None for PASS. `not_idempotent` is what a control's `again` starts showed (None: there were none).
    `problem` says in words why it is UNKNOWN, `ending_detail` why the trial ended otherwise than finished, where that
    is known. `effects` are what it did beyond its rows, where it declares any.
    """

    outcome: Outcome
    cause: Cause | None
    data: Data | None
    traffic: Traffic | None
    false_done: bool = False
    not_idempotent: bool | None = None
    problem: str | None = None
    ending_detail: str | None = None
    effects: Effects = Effects()


class Control(msgspec.Struct, frozen=True):
    """What the subject's controls showed: their worst outcome and the page requests of the first."""

    outcome: Outcome
    requests: int | None


def judge(evidence: Evidence, control: Control | None = None) -> Verdict:
    """Judge one trial. `control` is None for a control itself, and where none was run."""
    course, truth = evidence.course, evidence.truth
    if not oracle.proper_incarnations(course.incarnations):
        return unknown("no incarnation was started")
    data, requests = oracle.judge_data(evidence), oracle.proper_requests(evidence)
    besides = effects.judge(evidence, len(oracle.proper_incarnations(course.incarnations)))
    baseline = control.requests if control else None
    watch = Watch(course.faults, course.began_s)
    outcome, cause, problem = _outcome(evidence, data, besides, control)
    return Verdict(
        outcome=outcome,
        cause=cause,
        data=data,
        traffic=traffic.count(requests, truth.minimum, baseline, data.distinct, truth.groups, watch),
        false_done=_says_done(course) and bool(data.lost or data.missed),
        # Of a trial with faults it would be no finding: they may have left rows that the next start mends.
        not_idempotent=_changed_again(evidence) if evidence.is_control else None,
        problem=problem,
        ending_detail=ending.detail_of(course, requests),
        effects=besides,
    )


def _changed_again(evidence: Evidence) -> bool | None:
    """Whether an `again` start changed rows or effects; None when no such start came to its end."""
    course = evidence.course
    is_changed = oracle.changed_again(course)
    proper = len(oracle.proper_incarnations(course.incarnations))
    return is_changed if is_changed is not False else effects.announced_again(evidence, proper)


def _says_done(course: Course) -> bool:
    """Whether the subject, or one of its copies, ended by itself with 0: faults may have ended all of them for good."""
    proper = oracle.proper_incarnations(course.incarnations)
    return course.ending == "finished" and any(one.ended_by == "itself" and one.exit == 0 for one in proper)


def unknown(problem: str) -> Verdict:
    """The verdict of a trial that we failed, not the subject."""
    return Verdict("UNKNOWN", "harness", None, None, problem=problem)


def has_finding(course: Course, data: Data, besides: Effects) -> bool:
    """True when ending, data, effects or processes hold a finding; traffic and time are costs."""
    is_found = data.has_finding or besides.has_finding or bool(course.orphans or course.zombies or course.ports)
    return course.ending != "finished" or is_found


def _outcome(
    evidence: Evidence, data: Data, besides: Effects, control: Control | None
) -> tuple[Outcome, Cause | None, str | None]:
    """FAIL before UNKNOWN before PASS; a subject that fails without faults is not the kills' doing."""
    course = evidence.course
    struck = [fault for fault in course.faults if fault.status != "not_reached"]
    if control is not None and control.outcome == "FAIL":
        return "FAIL", "control", None
    if has_finding(course, data, besides):
        is_undisturbed = evidence.is_control or not struck
        return "FAIL", "control" if is_undisturbed else "faults", None
    if evidence.planned_faults and not struck:
        return "UNKNOWN", "harness", "none of the planned faults struck: the subject never got to any of them"
    return "PASS", None, None


def worst(outcomes: list[Outcome]) -> Outcome:
    """FAIL before UNKNOWN before PASS."""
    order: tuple[Outcome, ...] = ("FAIL", "UNKNOWN", "PASS")
    return next(outcome for outcome in order if outcome in outcomes)
