"""What the kinds of servers have in common: the program that was found, and how the warden starts it."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

_ASK_DEADLINE_S = 10.0


class ServerProgram(msgspec.Struct, frozen=True):
    """A server that was found: its path, what it is ("Valkey", "Redis", "PostgreSQL") and its version."""

    path: str
    kind: str
    version: str


class ServerStart(msgspec.Struct, frozen=True):
    """A server's command, in which {port} and {data} are filled in.

    `data` is the folder that {data} means; `owner` the user and group to run it as, for servers that refuse to be
    root.
    """

    argv: tuple[str, ...]
    data: str | None = None
    owner: tuple[int, int] | None = None


def said_by(path: str) -> str:
    """What the program answers to `--version`; nothing when it can't be asked."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_ASK_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""  # of another machine's kind, for one
    return done.stdout


@contextmanager
def data_words(
    argv: Sequence[str], data: str | None, owner: tuple[int, int] | None
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The words with {data} filled in, and the options with which subprocess starts them.

    For another user the folder is passed as an open descriptor: a folder of results may lie where nobody but root
    may go, and no right on what is above it shall be changed.
    """
    if owner is None or data is None or not Path("/proc/self/fd").is_dir():
        yield [word.replace("{data}", data or "") for word in argv], _identity(owner)
        return
    held = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        words = [word.replace("{data}", f"/proc/self/fd/{held}") for word in argv]
        yield words, {**_identity(owner), "pass_fds": (held,), "cwd": "/"}
    finally:
        os.close(held)


def _identity(owner: tuple[int, int] | None) -> dict[str, Any]:
    return {} if owner is None else {"user": owner[0], "group": owner[1], "extra_groups": ()}
