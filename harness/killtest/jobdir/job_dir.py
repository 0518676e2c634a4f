"""A JOBDIR as it was found: its files, what they hold, and what a resume will do with them."""

import msgspec

from killtest.jobdir.queue import Queue
from killtest.jobdir.resume import Resume
from killtest.jobdir.state_file import State
from killtest.jobdir.stored import Finding

UNREADABLE = "unreadable"


class File(msgspec.Struct, frozen=True):
    """A file below the JOBDIR: its size and what it is; `holds` is what was read in it, in a few words."""

    path: str
    bytes: int
    what: str
    holds: str = ""


class JobDir(msgspec.Struct, frozen=True):
    """`fingerprints` are the distinct ones that a resume knows, `cut_bytes` what it can't read behind them.

    `index` holds the priorities of each slot, None where active.json is missing. `state` is None where there is no
    spider.state.
    """

    files: tuple[File, ...]
    fingerprints: int
    cut_bytes: int
    index: dict[str, tuple[int, ...]] | str | None
    queues: tuple[Queue, ...]
    state: State | str | None
    findings: tuple[Finding, ...]
    resume: Resume
