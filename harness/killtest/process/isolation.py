"""Where a trial's processes live: namespaces of their own where the machine allows it.

A network namespace gives all trials the same address and port and cuts off the outside; a PID namespace
makes the warden its init, so that nothing a subject starts can escape or outlive it.
"""

import ctypes
import fcntl
import functools
import os
import shutil
import socket
import struct
import subprocess
import sys

from killtest.errors import UsageError

# The same address and port for every trial, so that URLs in stored state stay valid (DESIGN section 3).
SITE_PORT = 8000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_MS_BIND = 4096
_NAMESPACES = ("--net", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL")


@functools.cache
def prefix() -> tuple[str, ...]:
    """The words to put before the warden's command; empty where namespaces are not to be had.

    Set KILLTEST_ISOLATION=none to do without. `unshare` is part of util-linux, on every Debian and Ubuntu.
    """
    wanted = os.environ.get("KILLTEST_ISOLATION", "namespaces")
    if wanted not in ("namespaces", "none"):
        raise UsageError(f"KILLTEST_ISOLATION={wanted}: it is namespaces (the default, where they can be had) or none")
    if wanted == "none" or not sys.platform.startswith("linux"):
        return ()
    return () if refusal() else _words()


def _words() -> tuple[str, ...]:
    user = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
    return (shutil.which("unshare") or "unshare", *user, *_NAMESPACES, "--")


def refusal() -> str:
    """The last line with which this machine refuses namespaces to a process of ours; empty when it grants them."""
    probe = "from killtest.process.isolation import raise_loopback; raise_loopback()"
    try:
        done = subprocess.run(
            [*_words(), sys.executable, "-c", probe], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]


def drop_capabilities() -> None:
    """Give up the capabilities that `--keep-caps` handed to us, so that no subject inherits them (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def bind(source: str, target: str) -> None:
    """Mount the folder `source` over `target` in this process's mount namespace. OSError when that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, _MS_BIND, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount --bind {source} {target}: {os.strerror(ctypes.get_errno())}")


def raise_loopback() -> None:
    """Switch on `lo` in a fresh network namespace, where it starts switched off. OSError when that is not allowed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
