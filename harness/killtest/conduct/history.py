"""What the harness did and saw, in order: the file history.jsonl, and whoever listens."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

Entry = dict[str, Any]


class Listener(Protocol):
    """Told of every entry as it is written, for the story on the terminal and the progress bar."""

    def heard(self, entry: Entry) -> None:
        """Take in one entry."""


class History:
    """Appends entries `{"event", "t_s", …}`; `t_s` are CLOCK_MONOTONIC seconds, as in the site's log."""

    def __init__(
        self, path: Path, listener: Listener | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Write to the new file `path`."""
        self._file = path.open("wb")
        self._listener = listener
        self._clock = clock

    def note(self, event: str, t_s: float | None = None, **facts: Any) -> None:
        """Write one entry; `t_s` is now when it is not given."""
        entry: Entry = {"event": event, "t_s": self._clock() if t_s is None else t_s, **facts}
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        if self._listener is not None:
            self._listener.heard(entry)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(path: Path) -> list[Entry]:
    """The entries in the file."""
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
