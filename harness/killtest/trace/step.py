"""A durable step: one call that changes the store's files or makes changes durable, as it was asked for."""

from pathlib import Path

import msgspec

from killtest.trace.calls import Effect


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `k`-th durable step of a recording, from 1; `n` counts those of the same call.

    Paths are relative to the store folder. `offset` None with data means: at the end of the file. `size` is the new
    length of a truncation or the bytes to allocate. `flags` are the call's own. `t_s` is CLOCK_MONOTONIC.

    A sync of the store folder itself has an empty path, and `k` and `n` 0: a kill loses nothing there, so it is no step
    to kill at, and only a power cut asks for it (docs/power.md).
    """

    k: int
    n: int
    t_s: float
    tid: int
    call: str
    effect: Effect
    path: str
    path2: str | None = None
    offset: int | None = None
    size: int | None = None
    flags: int = 0
    data: bytes | None = None

    @property
    def trigger(self) -> str:
        """The trigger that strikes right before this step."""
        return f"syscall:{self.call}#{self.n}"


def read(log: Path) -> list[Step]:
    """The steps of a recording."""
    return [one for one in read_all(log) if one.k]


def read_all(log: Path) -> list[Step]:
    """The same, and the syncs of the store folder between them."""
    decode = msgspec.json.Decoder(Step).decode
    return [decode(line) for line in log.read_bytes().splitlines()]
