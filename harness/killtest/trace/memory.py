"""Looking at a parked thread: its memory, its files, its folders (proc(5))."""

import os
import socket
import struct
from pathlib import Path

_LONGEST_PATH = 4096
_IOVEC = struct.Struct("PN")
_AT_FDCWD = -100


def read(tid: int, address: int, size: int) -> bytes:
    """That many bytes of the thread's memory; OSError when it is gone or the address is not its own."""
    with open(f"/proc/{tid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        pieces = []
        while size > 0 and (piece := memory.read(min(size, 1 << 20))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def text(tid: int, address: int) -> str:
    """The NUL-terminated string there, as a file name."""
    found = b""
    while b"\0" not in found and len(found) < _LONGEST_PATH:
        # Up to the end of the page: the next one may not be mapped.
        start = address + len(found)
        found += read(tid, start, 4096 - start % 4096)
    return os.fsdecode(found.split(b"\0", 1)[0])


def is_unix_path(tid: int, address: int) -> bool:
    """Whether a socket address is a path of the file system (unix(7)), neither abstract nor of another family."""
    family, first = struct.unpack("Hc", read(tid, address, 3))
    return bool(family == socket.AF_UNIX and first != b"\0")


def pieces(tid: int, address: int, count: int) -> bytes:
    """What the `count` entries of an iovec array point to, one after another."""
    array = read(tid, address, count * _IOVEC.size)
    return b"".join(read(tid, base, size) for base, size in _IOVEC.iter_unpack(array))


def folder(tid: int, at: int | None) -> str:
    """The folder that a path is relative to: that of a descriptor, or the working folder."""
    at = _AT_FDCWD if at is None else _signed(at)
    return os.readlink(f"/proc/{tid}/cwd" if at == _AT_FDCWD else f"/proc/{tid}/fd/{at}")  # noqa: PTH115 - as it stands


def file_of(tid: int, fd: int) -> str:
    """The path of an open file as the kernel tells it: `socket:[…]` and `… (deleted)` for what has no name."""
    return os.readlink(f"/proc/{tid}/fd/{_signed(fd)}")  # noqa: PTH115 - as it stands, not resolved


def position(tid: int, fd: int) -> int | None:
    """Where the next write goes; None when the file was opened for appending."""
    told = Path(f"/proc/{tid}/fdinfo/{_signed(fd)}").read_text("ascii").splitlines()
    lines = dict(line.split(":", 1) for line in told if ":" in line)
    return None if int(lines["flags"], 8) & os.O_APPEND else int(lines["pos"])


def _signed(number: int) -> int:
    """A descriptor is an int in a 64-bit register."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
