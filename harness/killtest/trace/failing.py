"""Calls that fail on purpose: with which error, how many, and which ones it can be in life."""

import errno
import os
from pathlib import Path

from killtest.plan import hardship
from killtest.trace.step import Step

_NUMBERS = {"enospc": errno.ENOSPC, "eio": errno.EIO}


class Failing:
    """Fails durable steps of one kind of error, `times` of them (None: all).

    `calls` is how many it has failed, `names` which calls they were. Mutable on purpose, and used by the supervisor's
    thread alone, but for these two, which may be read from another.
    """

    def __init__(self, kind: str, times: int | None) -> None:
        """`kind` is `enospc` or `eio`."""
        self._kind = kind
        self._times = times
        self.calls = 0
        self.names: list[str] = []

    def error_of(self, step: Step, root: str) -> int:
        """The errno that this step of the store at `root` fails with; 0 when it is to be taken."""
        is_over = self._times is not None and self.calls >= self._times
        if is_over or not hardship.applies(self._kind, step.effect):
            return 0
        if self._kind == "enospc" and not _wants_space(step, Path(root)):
            return 0
        self.calls += 1
        if step.call not in self.names:
            self.names.append(step.call)
        return _NUMBERS[self._kind]


def _wants_space(step: Step, root: Path) -> bool:
    """False for opening a file that is there, and for cutting one."""
    try:
        if step.effect == "create":
            return not os.path.lexists(root / step.path)
        if step.effect == "truncate":
            return (step.size or 0) > (root / step.path).stat().st_size
    except OSError:
        return False  # it fails by itself
    return True
