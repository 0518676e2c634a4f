"""The request log: a JSON line for each request, buffered so that the disk never slows the site."""

from __future__ import annotations

import os
import sys
from typing import Literal

import gevent
import msgspec

from .hooks import Delivery

Outcome = Literal["sent", "broken", "held", "open"]
Kind = Literal["page", "other"]

_FLUSH_BYTES = 64 * 1024
_FLUSH_EVERY_S = 0.25


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the site knows about one request; times are seconds of CLOCK_MONOTONIC.

    `host` is the site's address that was asked, left out of the line where it is the first, 127.0.0.1; `misbehaviour`
    names what was done wrong on purpose, left out where nothing was; `hook` is what was delivered at the webhook, of
    which the body had arrived in full.
    """

    seq: int
    incarnation: int
    conn: int
    peer: int
    method: str
    path: str
    kind: Kind
    n: int | None
    key: str | None
    version: int | None
    status: int | None
    bytes: int
    arrived_s: float
    held_s: float | None
    sent_s: float | None
    ended_s: float | None
    outcome: Outcome
    late: bool
    host: str | None = None
    misbehaviour: tuple[str, ...] = ()
    hook: Delivery | None = None


class RequestLog:
    """Writes lines to a file, or nowhere when `path` is None. OSError when the file can't be made."""

    def __init__(self, path: str | None) -> None:
        self._fd = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._buffer = bytearray()
        self._encode = msgspec.json.Encoder().encode
        self._complained = False
        self.lines = 0

    def add(self, line: LogLine) -> None:
        """Note a line; it reaches the file with the next flush."""
        self.lines += 1
        if self._fd is None:
            return
        self._buffer += self._encode(line)
        self._buffer += b"\n"
        if len(self._buffer) >= _FLUSH_BYTES:
            self._flush_quietly()

    def flush(self) -> None:
        """Write out what is buffered; on OSError what was not written stays buffered."""
        while self._fd is not None and self._buffer:
            written = os.write(self._fd, self._buffer)
            del self._buffer[:written]

    def keep_flushing(self) -> None:
        """Flush now and then, for ever: the body of a greenlet."""
        while True:
            gevent.sleep(_FLUSH_EVERY_S)
            self._flush_quietly()

    def close(self) -> None:
        """Flush and close the file."""
        self._flush_quietly()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _flush_quietly(self) -> None:
        """Flush; say once that the disk refuses, but serve on: `sync` reports the error to the harness."""
        try:
            self.flush()
        except OSError as error:
            if not self._complained:
                self._complained = True
                sys.stderr.write(f"killtest site: the request log can't be written: {error}\n")
