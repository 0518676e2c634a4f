"""The system calls that change files or make changes durable: their numbers, and what their arguments mean.

Numbers from arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; None where an
architecture has no such call.
"""

import platform
from typing import Literal

import msgspec

Effect = Literal[
    "create",
    "write",
    "truncate",
    "allocate",
    "rename",
    "unlink",
    "rmdir",
    "mkdir",
    "link",
    "symlink",
    "sync",
    "special",
]


class Call(msgspec.Struct, frozen=True):
    """One call. Numbers in the fields below are positions of arguments; None where it has no such argument.

    `fd` is the file it works on; `at` and `path` name a file by folder descriptor (None: the working folder) and
    pointer, `at2` and `path2` the second one; `data`, `size` and `offset` say what is written where, `iov` that
    `data` is an array of `size` pieces; `flags` holds O_CREAT, AT_REMOVEDIR and the like, `how` points to them.
    """

    name: str
    effect: Effect
    x86_64: int | None
    aarch64: int | None
    fd: int | None = None
    at: int | None = None
    path: int | None = None
    at2: int | None = None
    path2: int | None = None
    data: int | None = None
    size: int | None = None
    offset: int | None = None
    flags: int | None = None
    iov: bool = False
    how: bool = False


CALLS = (
    Call("open", "create", 2, None, path=0, flags=1),
    Call("creat", "create", 85, None, path=0),
    Call("openat", "create", 257, 56, at=0, path=1, flags=2),
    Call("openat2", "create", 437, 437, at=0, path=1, flags=2, how=True),
    Call("write", "write", 1, 64, fd=0, data=1, size=2),
    Call("pwrite64", "write", 18, 68, fd=0, data=1, size=2, offset=3),
    Call("writev", "write", 20, 66, fd=0, data=1, size=2, iov=True),
    Call("pwritev", "write", 296, 70, fd=0, data=1, size=2, offset=3, iov=True),
    Call("pwritev2", "write", 328, 287, fd=0, data=1, size=2, offset=3, iov=True),
    Call("truncate", "truncate", 76, 45, path=0, size=1),
    Call("ftruncate", "truncate", 77, 46, fd=0, size=1),
    Call("fallocate", "allocate", 285, 47, fd=0, flags=1, offset=2, size=3),
    Call("rename", "rename", 82, None, path=0, path2=1),
    Call("renameat", "rename", 264, 38, at=0, path=1, at2=2, path2=3),
    Call("renameat2", "rename", 316, 276, at=0, path=1, at2=2, path2=3, flags=4),
    Call("unlink", "unlink", 87, None, path=0),
    Call("unlinkat", "unlink", 263, 35, at=0, path=1, flags=2),
    Call("rmdir", "rmdir", 84, None, path=0),
    Call("mkdir", "mkdir", 83, None, path=0),
    Call("mkdirat", "mkdir", 258, 34, at=0, path=1),
    Call("link", "link", 86, None, path=0, path2=1),
    Call("linkat", "link", 265, 37, at=0, path=1, at2=2, path2=3),
    Call("symlink", "symlink", 88, None, path=0, path2=1),
    Call("symlinkat", "symlink", 266, 36, path=0, at2=1, path2=2),
    Call("fsync", "sync", 74, 82, fd=0),
    Call("fdatasync", "sync", 75, 83, fd=0),
    Call("sync_file_range", "sync", 277, 84, fd=0),
    Call("syncfs", "sync", 306, 267, fd=0),
    # These can't be replayed from their arguments: that they were seen is told, and the recording will not be trusted.
    Call("sendfile", "write", 40, 71, fd=0),
    Call("copy_file_range", "write", 326, 285, fd=2),
    Call("splice", "write", 275, 76, fd=2),
    # What a later start may stumble over and no file's content shows; and writes that no call will show.
    Call("mknod", "special", 133, None, path=0),
    Call("mknodat", "special", 259, 33, at=0, path=1),
    Call("bind", "special", 49, 200, path=1),
    Call("mmap", "special", 9, 222, fd=4),
)
NAMES = tuple(call.name for call in CALLS)


def by_number() -> dict[int, Call]:
    """The calls of this machine's architecture; empty where it is not known."""
    machine = platform.machine()
    if machine not in ("x86_64", "aarch64"):
        return {}
    numbered = ((getattr(call, machine), call) for call in CALLS)
    return {number: call for number, call in numbered if number is not None}
