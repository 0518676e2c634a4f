"""What the machine does to the subject for longer than a moment: a full or broken disk, a limit of memory.

Written `enospc[*TIMES]`, `eio[*TIMES]`, `memory:SIZE` (docs/faults.md).
"""

import re
from typing import Literal

import msgspec

from killtest.trace.calls import CALLS, Effect

Kind = Literal["enospc", "eio", "memory"]
ERRNOS: tuple[Kind, ...] = ("enospc", "eio")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# An empty program of most languages holds more.
_LEAST_BYTES = 1 << 20

# Which calls fail with it in life: the ERRORS of their manual pages (write(2), open(2), fsync(2), rename(2), …). A
# full disk shows at whatever may need a block: data, a name in a folder, and, where blocks are found only as data goes
# out (ext4's delayed allocation, btrfs, NFS), at a sync. Nothing is read or deleted for want of space.
_EFFECTS: dict[str, tuple[Effect, ...]] = {
    "enospc": ("create", "write", "truncate", "allocate", "rename", "mkdir", "link", "symlink", "sync"),
    "eio": (
        *("create", "write", "truncate", "allocate", "rename", "unlink", "rmdir", "mkdir", "link", "symlink"),
        "sync",
    ),
}


class Hardship(msgspec.Struct, frozen=True):
    """One kind: `enospc` and `eio` fail `times` durable calls (None: all, until the incarnation ends).

    `memory` is a limit of `size_bytes` on what the subject's processes hold together.
    """

    kind: Kind
    times: int | None = None
    size_bytes: int | None = None

    @property
    def text(self) -> str:
        """As it is written in a schedule."""
        if self.size_bytes is not None:
            return f"memory:{_size_text(self.size_bytes)}"
        return self.kind + ("" if self.times is None else f"*{self.times}")

    @property
    def is_errno(self) -> bool:
        """Whether calls fail of it."""
        return self.kind in ERRNOS


def applies(kind: str, effect: Effect) -> bool:
    """Whether a call of that effect can fail so.

    Of the effects `create` and `truncate` a full disk fails only what makes a new file or makes one longer.
    """
    return effect in _EFFECTS[kind]


def fails(kind: str, call: str) -> bool:
    """Whether that call, by its name, can fail so."""
    return any(one.name == call and applies(kind, one.effect) for one in CALLS)


def is_hardship(word: str) -> bool:
    """Whether the word is meant for one."""
    return re.match(r"(enospc|eio)(\*|,|$)|memory:", word) is not None


def parse(word: str) -> Hardship:
    """The hardship of that word; ValueError says in a sentence what is wrong."""
    failing = re.fullmatch(r"(enospc|eio)(?:\*([1-9][0-9]{0,8}))?", word)
    if failing:
        kind: Kind = "enospc" if failing[1] == "enospc" else "eio"
        return Hardship(kind, int(failing[2]) if failing[2] else None)
    sized = re.fullmatch(r"memory:([1-9][0-9]{0,14})([KMG]?)", word)
    if sized is None:
        hint = "; it stands alone, a fault each" if word.endswith(",") else ""
        raise ValueError(f'"{word}" is not understood{hint}; written as enospc, eio, enospc*1 or memory:256M')
    size_bytes = int(sized[1]) * _UNITS.get(sized[2], 1)
    if size_bytes < _LEAST_BYTES:
        raise ValueError(f'"{word}": at least memory:1M, for no program starts in less')
    return Hardship("memory", size_bytes=size_bytes)


def _size_text(size_bytes: int) -> str:
    """The size in the largest unit of which it is a whole number."""
    name, unit = next(((name, unit) for name, unit in reversed(_UNITS.items()) if not size_bytes % unit), ("", 1))
    return f"{size_bytes // unit}{name}"
