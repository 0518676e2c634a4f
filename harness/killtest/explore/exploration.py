"""All crash points of a subject, judged: by derived states first, then the failing ones by a true kill."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from killtest.campaigns import trial_line
from killtest.explore.crash_point import CrashPoint
from killtest.explore.recording import Recording
from killtest.explore.recovery import Recovery
from killtest.judge import verdict
from killtest.judge.evidence import Evidence, FaultRecord, Incarnation, Request
from killtest.judge.verdict import Control, Outcome, Verdict

# Rows that went and came back are a cost, no finding.
FINDINGS = tuple(name for name in trial_line.FINDINGS if name != "set_back")


class Judged(msgspec.Struct, frozen=True):
    """A crash point with its verdict; `requests` are all page requests, those of the recovery among them.

    `confirmed` says whether a true kill at that step (or at another point of its group) came out the same: None when
    none was needed or possible.
    """

    point: CrashPoint
    outcome: Outcome
    findings: Mapping[str, int]
    ending: str
    requests: int
    starts: int
    confirmed: bool | None = None

    @property
    def kind(self) -> str:
        """What is wrong, in words, for a table; empty when nothing is."""
        words = [f"{count} {name}" for name, count in self.findings.items()]
        return ", ".join(words + ([self.ending.replace("_", " ")] if self.ending != "finished" else []))


def judge_all(
    points: Sequence[CrashPoint], recoveries: Mapping[bytes, Recovery], recording: Recording, control: Control
) -> list[Judged]:
    """The verdict at each crash point."""
    return [_judged(point, recoveries[point.group], recording, control) for point in points]


def _judged(point: CrashPoint, recovery: Recovery, recording: Recording, control: Control) -> Judged:
    found = evidence_of(point, recovery, recording)
    answer = verdict.judge(found, control)
    assert answer.traffic is not None
    return Judged(
        point=point,
        outcome=answer.outcome,
        findings=counts(answer),
        ending=found.course.ending,
        requests=answer.traffic.requests,
        starts=len(recovery.course.incarnations),
    )


def counts(answer: Verdict) -> dict[str, int]:
    """How many keys each finding has; only those that there are."""
    found = {name: len(getattr(answer.data, name, ())) for name in FINDINGS}
    found |= {name: len(keys) for name, keys in answer.effects.named.items()}
    return {name: count for name, count in found.items() if count}


def evidence_of(point: CrashPoint, recovery: Recovery, recording: Recording) -> Evidence:
    """The trial as it would have been: the recorded crawl up to the kill, then the recovery."""
    course, first = recording.course, recording.course.incarnations[0]
    killed_s = point.step.t_s if point.step else course.began_s + first.ended_s
    cut = Incarnation(0, first.started_s, killed_s - course.began_s, -9, "fault", first.first_request_s)
    fault = FaultRecord(f"{point.trigger or 'the end'} KILL", "struck", 0, t_s=killed_s, scope="tree")
    whole = msgspec.structs.replace(
        recovery.course,
        incarnations=(cut, *recovery.course.incarnations),
        snapshots=(recovery.found, *recovery.course.snapshots),
        faults=(fault,),
    )
    requests = tuple(_as_of(request, killed_s) for request in recording.requests if request.arrived_s <= killed_s)
    merged = (*requests, *recovery.requests)
    return Evidence(whole, recording.truth, merged, planned_faults=1, is_control=False, effects=recording.effects)


def _as_of(request: Request, moment_s: float) -> Request:
    """What the site would have said of the request at that moment."""
    if request.ended_s is None or request.ended_s <= moment_s:
        return request
    return msgspec.structs.replace(request, outcome="held", ended_s=moment_s, sent_s=None)


def _names(one: Judged) -> str:
    return ", ".join([*one.findings, *([one.ending.replace("_", " ")] if one.ending != "finished" else [])])


def groups(judged: Iterable[Judged]) -> list[tuple[str, str, str, list[Judged]]]:
    """The failing points by call and file, phase and what is wrong, the first of each first."""
    found: dict[tuple[str, str, str], list[Judged]] = {}
    for one in judged:
        if one.outcome == "FAIL":
            found.setdefault((one.point.what, one.point.phase, _names(one)), []).append(one)
    return [(*key, members) for key, members in found.items()]
