"""A real ext4 in a file, whose power can be cut: a loop mount, and the shutdown that the kernel's own tests use.

Needs root. All of it is mounted in a private mount namespace of one thread (mount_namespaces(7)): when that thread or
the whole harness is killed, the kernel unmounts it, and a loop device with autoclear, as mount(8) sets it, is freed.
"""

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

from killtest.errors import HarnessFailure

# include/uapi/linux/ext4.h: EXT4_IOC_SHUTDOWN is _IOR('X', 125, __u32).
_IOC_SHUTDOWN = 0x8004587D
LOG_FLUSHED, NOTHING_FLUSHED = 1, 2
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_SIZE_BYTES = 64 << 20
_FREED_WITHIN_S = 20.0
_LOOK_EVERY_S = 0.02
# The kernel commits every 5 s by itself, which would save what no fsync asked for.
_OPTIONS = "loop,commit=900,noatime"


def refusal() -> str:
    """Why there can be none here; empty when nothing is known to stand against it."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [name for name in ("mkfs.ext4", "mount", "umount", "losetup") if shutil.which(name, path=_path()) is None]
    if missing:
        return f"{', '.join(missing)} not found (Debian and Ubuntu: apt install e2fsprogs mount)"
    return "" if Path("/dev/loop-control").exists() else "no loop devices: /dev/loop-control is missing"


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def make_mounts_private() -> None:
    """Give the calling thread a mount namespace of its own. OSError when that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), f"unshare(CLONE_NEWNS): {os.strerror(ctypes.get_errno())}")
    if libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount --make-rprivate /: {os.strerror(ctypes.get_errno())}")


class Ext4Disk:
    """A small ext4; call everything from the thread that has made its mounts private."""

    def __init__(self, place: Path) -> None:
        """Make and mount it in the new folder `place`. OSError with what the command said when that fails."""
        place.mkdir(parents=True)
        self._image, self.root = place / "ext4.img", place / "mounted"
        self.root.mkdir()
        with self._image.open("wb") as image:
            image.truncate(_SIZE_BYTES)
        _do("mkfs.ext4", "-q", "-F", str(self._image))
        self._mount()

    def _mount(self) -> None:
        _do("mount", "-t", "ext4", "-o", _OPTIONS, str(self._image), str(self.root))

    def sync(self) -> None:
        """Have all that stands in it on the disk."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(folder) != 0:
                raise OSError(ctypes.get_errno(), f"syncfs: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(folder)

    def cut(self, flag: int) -> None:
        """Cut its power: from now on nothing reaches the disk, the journal alone before it with LOG_FLUSHED."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _IOC_SHUTDOWN, struct.pack("I", flag))
        finally:
            os.close(folder)

    def restart(self) -> None:
        """Mount it anew, as a machine does when the power is back: its journal is replayed. Nobody may use it."""
        self._unmount()
        self._mount()

    def close(self) -> None:
        """Unmount it and remove it."""
        self._unmount()
        shutil.rmtree(self._image.parent)

    def _unmount(self) -> None:
        if os.path.ismount(self.root):
            _do("umount", str(self.root))
        ends_s = time.monotonic() + _FREED_WITHIN_S
        # While another namespace holds it the old one lives on, and mounted twice it would be worth nothing.
        while _do("losetup", "-j", str(self._image)):
            if time.monotonic() > ends_s:
                raise HarnessFailure(f"{self._image} stays in use {_FREED_WITHIN_S:g} s after it was unmounted")
            time.sleep(_LOOK_EVERY_S)


def _do(*words: str) -> str:
    """Run the command; what it printed. OSError with what it complained of."""
    env = {"PATH": _path(), "LC_ALL": "C"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise OSError(f"{words[0]}: {said}")
    return done.stdout
