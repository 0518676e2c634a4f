"""Whether a subject that stopped behind a failed call said why: the words that name a cause (docs/verdict.md). Pure."""

import re
import signal
from collections.abc import Iterable

from killtest.judge.course import CallErrors, Course, Incarnation

# What programs print: strerror(3), the names and numbers of errno(3) as Python, Rust, Node and PHP write them, and
# SQLite's messages and names of results (sqlite.org/rescode.html). Any case but for the names, which a path that was
# printed may hold in small letters, as the folders of trials do. SQLite calls an ENOSPC at a sync, a truncation or a
# deletion a disk I/O error, and nothing better can be had from it.
_IO = r"I/O error|Input/output error|SQLITE_IOERR"
_WORDS = {
    "ENOSPC": rf"{_IO}|(?-i:\bENOSPC\b)|No space left|disk (?:is )?full|SQLITE_FULL|not enough space|"
    r"\b(?:errno|os error)[\W_]{0,3}28\b",
    "EIO": rf"{_IO}|(?-i:\bEIO\b)|\b(?:errno|os error)[\W_]{{0,3}}5\b",
}
# All that SQLite says of a file that it could not create (SQLITE_CANTOPEN), or could open only to read, which it tries
# next whatever the error was (SQLITE_READONLY): the errno behind it stays inside.
_CANNOT_OPEN = r"unable to open database file|SQLITE_CANTOPEN|attempt to write a readonly database|SQLITE_READONLY"

# How a SIGKILL shows, and how a shell passes on that its child had one.
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def stopped(errors: CallErrors, incarnations: Iterable[Incarnation]) -> Incarnation | None:
    """The incarnation of the errors, when it stopped of itself and otherwise than with 0."""
    own = (one for one in incarnations if one.number == errors.incarnation)
    return next((one for one in own if one.ended_by == "itself" and one.exit != 0), None)


def is_named(errors: CallErrors) -> bool:
    """Whether what the incarnation printed names the error."""
    is_opening = any(name.startswith(("open", "creat")) for name in errors.names)
    words = _WORDS[errors.errno] + (f"|{_CANNOT_OPEN}" if is_opening else "")
    return re.search(words, errors.said, re.IGNORECASE) is not None


def unexplained(course: Course) -> dict[str, str]:
    """The incarnations that stopped behind a failed call and did not say why, each with what it did say last."""
    found = {}
    named = {errors.incarnation for errors in course.errors if is_named(errors)}
    for errors in course.errors:
        ended = stopped(errors, course.incarnations)
        if ended is not None and errors.incarnation not in named and not _was_killed(ended, course):
            lines = errors.said.strip().splitlines() or ["nothing"]
            what = f"{errors.errno} at {errors.call} {errors.path}".rstrip()
            found[f"incarnation {errors.incarnation}"] = f"exit {ended.exit} behind {what}; it said: {lines[-1][:160]}"
    return found


def _was_killed(ended: Incarnation, course: Course) -> bool:
    """Whether another fault may have killed it, such as a limit of memory: then it could say nothing."""
    struck = (one.planned for one in course.faults if one.status != "not_reached")
    return ended.exit in _KILLED and any(re.search(r"\s(enospc|eio)(\*|$)", planned) is None for planned in struck)
