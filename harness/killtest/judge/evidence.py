"""What a trial leaves for the judge: plain data, complete, and readable again from the trial's folder."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from killtest.errors import UsageError
from killtest.jobdir import border
from killtest.jobdir.compact import Compact
from killtest.judge import coverage, request_log
from killtest.judge import truth as truths
from killtest.judge.course import Course, Ending, FaultRecord, Incarnation, Status, Window
from killtest.judge.request_log import Request
from killtest.judge.truth import Truth
from killtest.plan.effects import EffectNeeds
from killtest.store import snapshot as snapshots

__all__ = ["Course", "Ending", "Evidence", "FaultRecord", "Incarnation", "Request", "Status", "Window"]

_EFFECTS = "effects.json"


class Evidence(msgspec.Struct, frozen=True):
    """Everything the judge looks at. What is long in it (rows, products, requests) may be read anew on every use.

    `jobdirs` is not judged: what was seen in the JOBDIR after each incarnation, where the subject has one. `effects`
    says what the subject declares beyond its rows.
    """

    course: Course
    truth: Truth
    requests: Sequence[Request]
    planned_faults: int
    is_control: bool
    jobdirs: Mapping[int, Compact] = {}
    effects: EffectNeeds = EffectNeeds()


class Counts(msgspec.Struct, frozen=True):
    """How much the site's log and the truth hold at least, so that what was cut off at a line's end is missed."""

    requests: int
    products: int


class _Counted(msgspec.Struct, frozen=True):
    counts: Counts | None = None  # not there in folders of an older killtest


def write_course(folder: Path, course: Course, counts: Counts | None = None) -> None:
    """Store what is not yet on disk: course.json, with the counts, and snapshot.jsonl."""
    head = msgspec.to_builtins(msgspec.structs.replace(course, snapshots=())) | {"counts": counts}
    (folder / "course.json").write_bytes(msgspec.json.format(msgspec.json.encode(head)) + b"\n")
    (folder / "snapshot.jsonl").write_bytes(b"".join(map(snapshots.to_lines, course.snapshots)))


def write_effects(folder: Path, needs: EffectNeeds) -> None:
    """Store what the subject declares beyond its rows, if anything: effects.json."""
    if needs.kinds:
        (folder / _EFFECTS).write_bytes(msgspec.json.encode(needs) + b"\n")


def _read_effects(folder: Path) -> EffectNeeds:
    path = folder / _EFFECTS
    return msgspec.json.decode(path.read_bytes(), type=EffectNeeds) if path.exists() else EffectNeeds()


def read(folder: Path, is_control: bool, planned_faults: int) -> Evidence:
    """The evidence kept in a trial's folder; UsageError when a file of it is missing or damaged."""
    try:
        data = (folder / "course.json").read_bytes()
        course = msgspec.json.decode(data, type=Course)
        counts = msgspec.json.decode(data, type=_Counted).counts
        taken = tuple(snapshots.from_lines(folder / "snapshot.jsonl"))
        truth = truths.read(folder / "truth.json")
        requests = request_log.read(folder / "site.jsonl")
        jobdirs, effects = border.read(folder), _read_effects(folder)
        course = msgspec.structs.replace(course, snapshots=taken)
        _check(course, truth, requests, counts)
        if not effects.kinds and any(one.effects is not None for one in taken):
            raise msgspec.ValidationError(f"{_EFFECTS} is not there, and snapshots hold effects")
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{folder}: no complete evidence: {error}") from None
    located = coverage.located(course, truth, requests)
    return Evidence(located, truth, requests, planned_faults, is_control, jobdirs, effects)


def _check(course: Course, truth: Truth, requests: Iterable[Request], counts: Counts | None) -> None:
    """msgspec.ValidationError when a file ends too early, or a line is missing in the middle."""
    ran, taken = [one.number for one in course.incarnations], [one.incarnation for one in course.snapshots]
    if not ran or ran != taken:
        raise msgspec.ValidationError(f"incarnations {_listed(ran)} ran, and there are snapshots of {_listed(taken)}")
    if counts is not None and len(truth.rows) != counts.products:
        raise msgspec.ValidationError(f"truth.json holds {len(truth.rows)} of {counts.products} products")
    missing = request_log.first_missing(requests, counts.requests if counts else None)
    if missing is not None:
        raise msgspec.ValidationError(f"site.jsonl has no line for request {missing}")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
