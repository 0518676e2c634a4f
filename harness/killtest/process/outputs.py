"""What the subject prints goes into files; one that prints without end must not fill the disk."""

import os
from collections.abc import Callable
from pathlib import Path

LIMIT_BYTES = 32 << 20
KEPT_BYTES = 1 << 20
_END_BYTES = 20_000
# At 2 GB/s, about what a loop of writes reaches, half a gigabyte lies there before it is looked at again.
LOOK_EVERY_S = 0.25


def size_of(path: Path) -> int:
    """How many bytes an output has; none where it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def end_of(path: Path, since_bytes: int = 0) -> str:
    """The last 20,000 bytes of an output as text, of what lies behind `since_bytes`; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            # One that has been cut is shorter than it was: then all of it may be new.
            file.seek(max(size - _END_BYTES, since_bytes if since_bytes <= size else 0, 0))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


class Outputs:
    """The files that the incarnations print into, each opened by them for appending."""

    def __init__(self, cut: Callable[[str, int], None]) -> None:
        """Call `cut(path, dropped_bytes)` whenever a file had to be cut."""
        self._paths: list[str] = []
        self._cut = cut

    def watch(self, *paths: str) -> None:
        """Look at these as well from now on: orphans may print into the files of earlier incarnations."""
        self._paths += [path for path in paths if path not in self._paths]

    def look(self) -> None:
        """Cut every file that is over the limit back to its beginning, and say in it how much was dropped."""
        for path in self._paths:
            try:
                size = Path(path).stat().st_size
            except OSError:
                continue
            if size > LIMIT_BYTES:
                self._shorten(path, size)

    def _shorten(self, path: str, size: int) -> None:
        dropped = size - KEPT_BYTES
        # They append: what they print next comes behind what is kept.
        os.truncate(path, KEPT_BYTES)
        with open(path, "ab") as file:
            file.write(f"\n[killtest dropped {dropped} bytes of output here]\n".encode())
        self._cut(path, dropped)
