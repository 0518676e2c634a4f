"""How a trial went: its incarnations, what became of its faults, and what was left at the end."""

from typing import Literal

import msgspec

from killtest.process.launcher import Face
from killtest.store.snapshot import Snapshot

Status = Literal["struck", "before_first_request", "escalated", "not_reached"]
Window = Literal["start-up", "commit", "between", "waiting", "idle"]
Ending = Literal["finished", "crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"]


class FaultRecord(msgspec.Struct, frozen=True):
    """What became of one planned fault: times in seconds from the start of its incarnation.

    `t_s` is the CLOCK_MONOTONIC second of the strike; `window` is where it hit (judge/coverage.py). `caught` and
    `ignored` are what the main process did about that signal just before. `last_s` is when the last signal of a
    sequence was sent.
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
    last_s: float | None = None


class Incarnation(msgspec.Struct, frozen=True):
    """One process lifetime of the subject: times in seconds from the start of the trial.

    `exit` is the exit code, negative for a signal; `is_again` marks an undisturbed start after the subject
    had finished; `instance` is which of several copies of the subject it was.
    """

    number: int
    started_s: float
    ended_s: float
    exit: int
    ended_by: Literal["fault", "itself", "limit"]
    first_request_s: float | None = None
    is_again: bool = False
    instance: int = 0


class Revision(msgspec.Struct, frozen=True):
    """The code that one instance runs from says `REVISION = revision` from the CLOCK_MONOTONIC second `t_s` on."""

    instance: int
    revision: int
    t_s: float


class CallErrors(msgspec.Struct, frozen=True):
    """Durable calls of an incarnation that failed on purpose with `errno` (ENOSPC, EIO).

    `calls` is how many, `call` and `path` are the first one's, `said` is the end of what the incarnation printed,
    `names` are the calls among them.
    """

    incarnation: int
    errno: str
    calls: int
    call: str
    path: str
    said: str
    names: tuple[str, ...] = ()


class Course(msgspec.Struct, frozen=True):
    """How a trial went: what the conductor saw, without what the site and the store say.

    `ports` are the listening ports that processes left behind; `hung_on` is, of a subject that hung, a line per
    process with what it waits for. `began_s` is the CLOCK_MONOTONIC second from which times of incarnations count.
    `revisions` are the changes of code that a fault made, in order, `errors` the incarnations whose calls failed.
    """

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
    revisions: tuple[Revision, ...] = ()
    errors: tuple[CallErrors, ...] = ()
