"""What a trial leaves for the judge: plain data, complete, and readable again from the trial's folder."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from killtest.errors import UsageError
from killtest.judge import coverage, request_log
from killtest.judge import truth as truths
from killtest.judge.course import Course, Ending, FaultRecord, Incarnation, Status, Window
from killtest.judge.request_log import Request
from killtest.judge.truth import Truth
from killtest.store import snapshot as snapshots

__all__ = ["Course", "Ending", "Evidence", "FaultRecord", "Incarnation", "Request", "Status", "Window"]


class Evidence(msgspec.Struct, frozen=True):
    """Everything the judge looks at. What is long in it (rows, products, requests) may be read anew on every use."""

    course: Course
    truth: Truth
    requests: Sequence[Request]
    planned_faults: int
    is_control: bool


def write_course(folder: Path, course: Course) -> None:
    """Store what is not yet on disk: course.json and snapshot.jsonl."""
    head = msgspec.structs.replace(course, snapshots=())
    (folder / "course.json").write_bytes(msgspec.json.format(msgspec.json.encode(head)) + b"\n")
    (folder / "snapshot.jsonl").write_bytes(b"".join(map(snapshots.to_lines, course.snapshots)))


def read(folder: Path, is_control: bool, planned_faults: int) -> Evidence:
    """The evidence kept in a trial's folder; UsageError when a file of it is missing or damaged."""
    try:
        course = msgspec.json.decode((folder / "course.json").read_bytes(), type=Course)
        taken = tuple(snapshots.from_lines(folder / "snapshot.jsonl"))
        truth = truths.read(folder / "truth.json")
        requests = request_log.read(folder / "site.jsonl")
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder}: no complete evidence: {error}") from None
    course = coverage.located(msgspec.structs.replace(course, snapshots=taken), truth.rows, requests)
    return Evidence(course, truth, requests, planned_faults, is_control)
