"""What a sweep found: for each kind of moment the requests at which a kill fails, and for each finding its first."""

from collections.abc import Iterator, Sequence

import msgspec

from killtest import intervals
from killtest.campaigns import answer
from killtest.campaigns.answer import Answer
from killtest.campaigns.trial_line import Line
from killtest.judge.verdict import Outcome, worst
from killtest.plan.campaign import Spec

_MOMENTS = {"request": "held", "response": "after the response"}


class Finding(msgspec.Struct, frozen=True):
    """Kills that found the same, whatever the keys: `numbers` are the requests, `first` is the line of the first."""

    words: str
    numbers: tuple[int, ...]
    first: Line


class Moment(msgspec.Struct, frozen=True):
    """The kills of one kind: the requests at which they passed, found something, or did not strike."""

    moment: str
    signal: str
    passed: tuple[int, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[int, ...]

    @property
    def kills(self) -> int:
        """How many there were."""
        return len(self.passed) + len(self.unknown) + sum(len(one.numbers) for one in self.findings)


class Swept(msgspec.Struct, frozen=True):
    """The whole sweep: `requests` is how many were swept; `findings` are those of all moments together.

    `first` is the fault before each kill, empty without one. Where the subject fails without faults, or with the first
    one alone, there are no moments, and `findings` are those of that.
    """

    outcome: Outcome
    requests: int
    moments: tuple[Moment, ...]
    findings: tuple[Finding, ...]
    first: str = ""


def summed(spec: Spec, lines: Sequence[Line], requests: int) -> Swept:
    """The sweep's campaign in figures."""
    rules = [rule for rule in spec.schedules if rule.each]
    groups = [(rule, [_struck(one) for one in lines if one["schedule"]["group"] == rule.group]) for rule in rules]
    kills = [line for _, own in groups for line in own]
    moments = [_moment(_MOMENTS[rule.trigger], rule.signals[0], own) for rule, own in groups]
    judged = kills or lines
    first = next((rule.faults[0] for rule in spec.schedules if rule.faults), "")
    outcome = worst([line["outcome"] for line in judged])
    return Swept(outcome, requests, tuple(moments), tuple(_findings(judged)), first)


def _struck(line: Line) -> Line:
    """The line; UNKNOWN where the kill did not strike, though the fault before it did and the trial passed."""
    is_missed = any(fault["status"] == "not_reached" for fault in line["faults"])
    return {**line, "outcome": "UNKNOWN"} if is_missed and line["outcome"] == "PASS" else line


def _moment(moment: str, signal: str, lines: list[Line]) -> Moment:
    numbers = {name: tuple(_number(one) for one in lines if one["outcome"] == name) for name in ("PASS", "UNKNOWN")}
    return Moment(moment, signal, numbers["PASS"], tuple(_findings(lines)), numbers["UNKNOWN"])


def _number(line: Line) -> int:
    """The request at which it was killed: such a schedule is named GROUP-NUMBER; 0 for one that is not."""
    number = line["schedule"]["name"].rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _place(line: Line) -> tuple[int, bool]:
    """Where a line stands among others: by its request, held before answered, since a kill there repeats exactly."""
    faults = line["schedule"]["faults"]
    return _number(line), bool(faults) and faults[-1].startswith("response")


def _findings(lines: Sequence[Line]) -> Iterator[Finding]:
    """What fails, by ending and names of the findings, the most frequent first."""
    groups: dict[object, list[tuple[Line, Answer]]] = {}
    for line in sorted(lines, key=_place):
        said = answer.of_line(line)
        if said.outcome == "FAIL":
            groups.setdefault(said.names, []).append((line, said))
    for members in sorted(groups.values(), key=len, reverse=True):
        numbers = tuple(_number(line) for line, _ in members)
        yield Finding(answer.words([said for _, said in members]), numbers, members[0][0])


def words(swept: Swept, label: str) -> Iterator[str]:
    """The sweep for people."""
    failing = sum(len(one.numbers) for one in swept.findings)
    kills = sum(one.kills for one in swept.moments)
    if not kills:
        why = f"it comes to no PASS with {swept.first} alone"
        why = why if swept.first else "its control comes to no PASS without any fault"
        yield f"{swept.outcome}  {label}  not killed: {why}"
        yield from (f"      {one.words}\n      reproduce: {one.first['reproduce']}" for one in swept.findings)
        return
    behind = f" of the start behind {swept.first}" if swept.first else ""
    where = f"one at each of {swept.requests} page requests{behind}"
    yield f"{swept.outcome}  {label}  {failing} of {kills} kills fail; {where}"
    has_signals = len({one.signal for one in swept.moments}) > 1
    for one in swept.moments:
        yield f"      {one.moment}{f', SIG{one.signal}' if has_signals else ''}: {'; '.join(_parts(one))}"
    for finding in swept.findings:
        times = f"{len(finding.numbers)} kill{'s' if len(finding.numbers) != 1 else ''}"
        yield f"      {finding.words}: {times}, the first at {finding.first['schedule']['faults'][-1]}"
        yield f"      reproduce: {finding.first['reproduce']}"


def _parts(one: Moment) -> Iterator[str]:
    yield f"{len(one.passed)} of {one.kills} pass"
    if one.findings:
        yield "fails at " + ", and at ".join(
            f"{intervals.words(found.numbers, most=8)} ({found.words})" for found in one.findings
        )
    if one.unknown:
        yield f"did not strike, or could not be judged, at {intervals.words(one.unknown, most=8)}"


def as_json(swept: Swept) -> dict[str, object]:
    """What --json prints and sweep.json holds."""
    return {
        "schema": 1,
        "outcome": swept.outcome,
        "requests": swept.requests,
        "first": swept.first,
        "moments": [
            {"moment": one.moment, "signal": one.signal, "passed": one.passed, "unknown": one.unknown}
            | {"failed": [_told(found) for found in one.findings]}
            for one in swept.moments
        ],
        "findings": [_told(found) for found in swept.findings],
    }


def _told(found: Finding) -> dict[str, object]:
    first = found.first
    return {"found": found.words, "requests": found.numbers, "first": first["id"], "reproduce": first["reproduce"]}
