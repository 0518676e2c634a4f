"""What comes of the states that a power cut may leave: of each model how many fail, and how much is done again."""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from killtest.explore.exploration import Judged, counts, judge_all
from killtest.explore.recording import Recording
from killtest.explore.recovery import Recovery
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Control
from killtest.power.power_model import KILL
from killtest.power.power_point import PowerPoint


class Cut(msgspec.Struct, frozen=True):
    """A point with its verdict."""

    model: str
    detail: str
    judged: Judged


class AfterExit(msgspec.Struct, frozen=True):
    """What lies there after a cut behind exit 0, when nobody starts the crawler again, and after one more start.

    `rows` of `products` can be read at once (None: the store can't be read), `findings` say what is wrong with them.
    `again` is the same after one more start, `requests` what that start asked for.
    """

    model: str
    detail: str
    rows: int | None
    products: int
    findings: Mapping[str, int]
    again: Judged
    requests: int

    @property
    def is_sound(self) -> bool:
        """Whether the crawler's word that it was done is kept."""
        return self.rows is not None and not self.findings


class Tally(msgspec.Struct, frozen=True):
    """One model in figures: points, distinct states, failing points, and requests beyond the fewest possible."""

    model: str
    points: int
    states: int
    failing: int
    findings: Mapping[str, int]
    again_median: float
    again_most: int


def judge_cuts(
    points: Sequence[PowerPoint], recoveries: Mapping[bytes, Recovery], taken: Recording, control: Control
) -> list[Cut]:
    """The verdict at each point."""
    judged = judge_all([one.point for one in points], recoveries, taken, control)
    return [Cut(point.model, point.detail, one) for point, one in zip(points, judged, strict=True)]


def after_exit(cuts: Sequence[Cut], recoveries: Mapping[bytes, Recovery], taken: Recording) -> list[AfterExit]:
    """The cuts behind the last step, of a crawler that has said that it is done; none of one that never says so."""
    last = taken.course.incarnations[-1]
    if last.ended_by != "itself" or last.exit != 0:
        return []
    return [
        _lying(cut, recoveries[cut.judged.point.group], taken)
        for cut in cuts
        if cut.judged.point.step is None and cut.model != KILL
    ]


def _lying(cut: Cut, recovery: Recovery, taken: Recording) -> AfterExit:
    course = msgspec.structs.replace(taken.course, snapshots=(recovery.found,))
    answer = verdict.judge(Evidence(course, taken.truth, taken.requests, 0, is_control=True, effects=taken.effects))
    assert answer.data is not None
    return AfterExit(
        cut.model,
        cut.detail,
        answer.data.rows,
        len(taken.truth.rows),
        counts(answer),
        cut.judged,
        cut.judged.requests - cut.judged.point.requests,
    )


def tallies(cuts: Sequence[Cut], minimum: int) -> list[Tally]:
    """The figures of each model, in the order in which the models come; `minimum` requests are enough for a crawl."""
    by_model: dict[str, list[Judged]] = {}
    for cut in cuts:
        by_model.setdefault(cut.model, []).append(cut.judged)
    return [_tally(model, judged, minimum) for model, judged in by_model.items()]


def _tally(model: str, judged: Sequence[Judged], minimum: int) -> Tally:
    failing = [one for one in judged if one.outcome == "FAIL"]
    findings: dict[str, int] = {}
    for one in failing:
        for name in (*one.findings, *([one.ending] if one.ending != "finished" else [])):
            findings[name] = findings.get(name, 0) + 1
    again = [max(0, one.requests - minimum) for one in judged]
    states = len({one.point.state for one in judged})
    return Tally(model, len(judged), states, len(failing), findings, median(again), max(again))
