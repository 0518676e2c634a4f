"""What a trial leaves for the judge: plain data, complete, and readable again from the trial's folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from killtest.errors import UsageError
from killtest.judge.truth import Truth
from killtest.process.launcher import Face
from killtest.store import snapshot as snapshots
from killtest.store.snapshot import Snapshot

Status = Literal["struck", "before_first_request", "escalated", "not_reached"]
Window = Literal["start-up", "waiting", "idle"]
Ending = Literal["finished", "crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"]


class FaultRecord(msgspec.Struct, frozen=True):
    """What became of one planned fault: times in seconds from the start of its incarnation.

    `t_s` is the CLOCK_MONOTONIC second of the strike; `window` is where it hit: before the first request, while the
    subject waited for the site, or while no request was open. `caught` and `ignored` are what the main process
    did about that signal just before.
    """

    planned: str
    status: Status
    incarnation: int | None = None
    due_s: float | None = None
    struck_s: float | None = None
    t_s: float | None = None
    since_first_request_s: float | None = None
    scope: str | None = None
    in_flight: tuple[str, ...] = ()
    window: Window | None = None
    caught: bool | None = None
    ignored: bool | None = None


class Incarnation(msgspec.Struct, frozen=True):
    """One process lifetime of the subject: times in seconds from the start of the trial.

    `exit` is the exit code, negative for a signal; `is_again` marks an undisturbed start after the subject
    had finished.
    """

    number: int
    started_s: float
    ended_s: float
    exit: int
    ended_by: Literal["fault", "itself", "limit"]
    first_request_s: float | None = None
    is_again: bool = False


class Course(msgspec.Struct, frozen=True):
    """How a trial went: what the conductor saw, without what the site and the store say."""

    ending: Ending
    incarnations: tuple[Incarnation, ...]
    faults: tuple[FaultRecord, ...]
    snapshots: tuple[Snapshot, ...]
    orphans: tuple[Face, ...] = ()
    zombies: tuple[Face, ...] = ()
    self_deaths: int = 0
    began_s: float = 0.0
    ports: tuple[int, ...] = ()
    hung_on: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """One line of the site's request log (docs/site-protocol.md)."""

    seq: int
    incarnation: int
    conn: int
    method: str
    path: str
    kind: str
    arrived_s: float
    outcome: str
    late: bool
    ended_s: float | None = None
    sent_s: float | None = None
    key: str | None = None
    version: int | None = None
    status: int | None = None


class Evidence(msgspec.Struct, frozen=True):
    """Everything the judge looks at."""

    course: Course
    truth: Truth
    requests: tuple[Request, ...]
    planned_faults: int
    is_control: bool = False


def located(fault: FaultRecord, requests: Iterable[Request]) -> FaultRecord:
    """The record with what the site's log says of its moment: requests open then, and whether it was the start-up.

    The log is the better witness: between the trigger and the signal more requests may have arrived.
    """
    moment_s = fault.t_s
    if moment_s is None:
        return fault
    arrived = [request for request in requests if request.arrived_s <= moment_s]
    own = [request.arrived_s for request in arrived if request.incarnation == fault.incarnation]
    open_then = [request.path for request in arrived if request.ended_s is None or request.ended_s > moment_s]
    status: Status = fault.status
    if status != "escalated":
        status = "struck" if own else "before_first_request"
    window: Window = "start-up" if not own else "waiting" if open_then else "idle"
    since_s = moment_s - min(own) if own else None
    changes = {"status": status, "window": window, "since_first_request_s": since_s, "in_flight": tuple(open_then)}
    return msgspec.structs.replace(fault, **changes)


def write_course(folder: Path, course: Course) -> None:
    """Store what is not yet on disk: course.json and snapshot.jsonl."""
    head = msgspec.structs.replace(course, snapshots=())
    (folder / "course.json").write_bytes(msgspec.json.format(msgspec.json.encode(head), indent=1) + b"\n")
    (folder / "snapshot.jsonl").write_bytes(b"".join(map(snapshots.to_lines, course.snapshots)))


def read_requests(log: Path) -> tuple[Request, ...]:
    """The site's log, in order of arrival; of two lines for a request (open, then over) the later one."""
    decoder = msgspec.json.Decoder(Request)
    found = {request.seq: request for request in map(decoder.decode, log.read_bytes().splitlines())}
    return tuple(found[seq] for seq in sorted(found))


def read(folder: Path, is_control: bool, planned_faults: int) -> Evidence:
    """The evidence kept in a trial's folder; UsageError when a file of it is missing or damaged."""
    try:
        course = msgspec.json.decode((folder / "course.json").read_bytes(), type=Course)
        stored = snapshots.from_lines((folder / "snapshot.jsonl").read_bytes())
        truth = msgspec.json.decode((folder / "truth.json").read_bytes(), type=Truth)
        requests = read_requests(folder / "site.jsonl")
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder}: no complete evidence: {error}") from None
    faults = tuple(located(fault, requests) for fault in course.faults)
    course = msgspec.structs.replace(course, snapshots=tuple(stored), faults=faults)
    return Evidence(course, truth, requests, planned_faults, is_control)
