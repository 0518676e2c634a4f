"""What a process waits for: the system call that its main thread sleeps in (Linux)."""

import platform
from pathlib import Path

from killtest.process.process_tree import Identity

# Numbers of the calls that processes sleep in (asm/unistd_64.h and asm-generic/unistd.h), with the words for a report.
_SLEEPS = {
    "reading": {"x86_64": 0, "aarch64": 63},
    "poll": {"x86_64": 7},
    "ppoll": {"x86_64": 271, "aarch64": 73},
    "select": {"x86_64": 23},
    "pselect": {"x86_64": 270, "aarch64": 72},
    "epoll": {"x86_64": 232, "aarch64": 22},
    "epoll_pwait": {"x86_64": 281},
    "sleeping": {"x86_64": 230, "aarch64": 115},
    "nanosleep": {"x86_64": 35, "aarch64": 101},
    "waiting for a child": {"x86_64": 61, "aarch64": 260},
    "waiting for a child (waitid)": {"x86_64": 247, "aarch64": 95},
    "waiting for a lock (futex)": {"x86_64": 202, "aarch64": 98},
    "waiting for a file lock (flock)": {"x86_64": 73, "aarch64": 32},
    "waiting for a file lock (fcntl)": {"x86_64": 72, "aarch64": 25},
    "accepting": {"x86_64": 43, "aarch64": 202},
    "accepting (accept4)": {"x86_64": 288, "aarch64": 242},
    "receiving from": {"x86_64": 45, "aarch64": 207},
    "receiving a message from": {"x86_64": 47, "aarch64": 212},
    "paused by a signal": {"x86_64": 34},
}
# Of these the first argument is the descriptor, which says more than the call.
_ON_A_FILE = (
    "reading",
    "accepting",
    "accepting (accept4)",
    "receiving from",
    "receiving a message from",
    "waiting for a file lock (flock)",
)


def waits_for(one: Identity) -> str:
    """In words what the process waits for; "running" when it waits for nothing, "unknown" when it can't be told."""
    state = _read(f"/proc/{one.pid}/stat").rpartition(")")[2].split()[:1]
    if state in (["T"], ["t"]):
        return "stopped"
    words = _read(f"/proc/{one.pid}/syscall").split()
    if not words or words[0] == "running":
        return "running" if words else "unknown"
    machine = platform.machine()
    names = {numbers[machine]: name for name, numbers in _SLEEPS.items() if machine in numbers}
    name = names.get(int(words[0]), f"system call {words[0]}")
    return f"{name} {_file(one.pid, int(words[1], 16))}" if name in _ON_A_FILE else name


def _file(pid: int, fd: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/{fd}").readlink())
    except OSError:
        return f"descriptor {fd}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""
