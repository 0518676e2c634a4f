"""The ledger: trials.jsonl, one line per finished trial, append-only, safe against a kill at any moment."""

import os
from pathlib import Path
from typing import Any

import msgspec

from killtest.campaigns.trial_line import SCHEMA
from killtest.errors import UsageError

Line = dict[str, Any]


class Ledger:
    """The finished trials of one campaign."""

    def __init__(self, path: Path) -> None:
        """Open the ledger at `path`; a line that a kill cut short is removed, whole lines stay as they are."""
        self._path = path
        self.lines: list[Line] = []
        if path.exists():
            whole = _drop_torn_tail(path)
            self.lines = [_decode(line, path, number) for number, line in enumerate(whole, 1)]

    def finished(self) -> set[str]:
        """The ids of the trials that need not be run again."""
        return {line["id"] for line in self.lines}

    def append(self, line: Line) -> None:
        """Add a finished trial; it is on the disk when this returns."""
        data = msgspec.json.encode(line) + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # One write call: the kernel takes a line of this size whole, or a kill comes before it.
            written = os.write(handle, data)
            if written != len(data):
                raise UsageError(f"{self._path}: only {written} of {len(data)} bytes written; is the disk full?")
            os.fsync(handle)
        finally:
            os.close(handle)
        self.lines.append(msgspec.json.decode(data))


def read(path: Path) -> list[Line]:
    """The lines of a ledger that is only looked at; a torn last line is left out, and left in place."""
    try:
        *whole, _ = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; a campaign's folder holds trials.jsonl") from None
    return [_decode(line, path, number) for number, line in enumerate(whole, 1)]


def _drop_torn_tail(path: Path) -> list[bytes]:
    data = path.read_bytes()
    *whole, tail = data.split(b"\n")
    if tail:
        os.truncate(path, len(data) - len(tail))
    return whole


def _decode(line: bytes, path: Path, number: int) -> Line:
    try:
        decoded: Line = msgspec.json.decode(line, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}, line {number}: {error}; move the folder away to start afresh") from None
    if decoded.get("schema") != SCHEMA:
        raise UsageError(f"{path}, line {number}: schema {decoded.get('schema')!r}, this killtest reads {SCHEMA}")
    if not isinstance(decoded.get("id"), str):
        raise UsageError(f"{path}, line {number}: the id of a trial is missing; move the folder away to start afresh")
    return decoded
