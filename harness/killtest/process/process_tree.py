"""Processes we started: find them, signal them safely, and wait until they are dead (Linux, and psutil elsewhere)."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

_POLL_S = 0.0002


@dataclass(frozen=True, slots=True)
class Identity:
    """A process by pid and start time (clock ticks since boot on Linux): a reused pid is another one."""

    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class Disposition:
    """What a process does about one signal, read before it is sent."""

    caught: bool
    ignored: bool


def identify(pid: int) -> Identity | None:
    """The process now at `pid`, or None when there is none."""
    # Field 22 of proc(5), not psutil's create_time, which moves when the system clock is set.
    fields = _stat(pid)
    if fields:
        return Identity(pid, float(fields[19]))
    return None if sys.platform.startswith("linux") else _identify_by_psutil(pid)


def _identify_by_psutil(pid: int) -> Identity | None:
    try:
        return Identity(pid, psutil.Process(pid).create_time())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def descendants(pid: int, without: Iterable[int] = ()) -> list[Identity]:
    """The processes below `pid`, except `without` and what is below them; zombies included."""
    parents: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            parents.setdefault(process.ppid(), []).append(process)
        except psutil.NoSuchProcess:
            continue
    found: list[Identity] = []
    left_out = {pid, *without}
    queue = [pid]
    while queue:
        for process in parents.get(queue.pop(), []):
            identity = identify(process.pid)
            if identity is not None and process.pid not in left_out:
                found.append(identity)
                queue.append(process.pid)
    return found


def send(target: Identity, number: int) -> bool:
    """Signal exactly that process; False when it is gone. A pidfd closes the gap between check and signal."""
    if not hasattr(os, "pidfd_open"):
        return _send_by_pid(target, number)
    try:
        handle = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return False
    try:
        if identify(target.pid) != target:
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


def _send_by_pid(target: Identity, number: int) -> bool:
    if identify(target.pid) != target:
        return False
    try:
        os.kill(target.pid, number)
    except ProcessLookupError:
        return False
    return True


def stop_until_still(
    scan: Callable[[], list[Identity]], deadline_s: float = 5.0, parked: int | None = None
) -> list[Identity]:
    """SIGSTOP all that `scan` finds until two scans agree; what was found, the oldest first.

    The thread `parked` waits in a call that is being looked at: no signal but SIGKILL reaches it, and it does nothing.

    A tree that forks while it is being listed can't slip away: before the next scan everything has really stopped,
    a fork in progress included. One that forks faster than it can be listed is given up on after `deadline_s`.
    """
    stopped: set[Identity] = set()
    ends_s = time.monotonic() + deadline_s
    while True:
        found = set(scan())
        fresh = found - stopped
        if not fresh or time.monotonic() > ends_s:
            return sorted(found | stopped, key=lambda one: one.started)
        for one in fresh:
            send(one, signal.SIGSTOP)
        _wait_stopped(fresh, ends_s, parked)
        stopped |= fresh


def _wait_stopped(targets: Iterable[Identity], ends_s: float, parked: int | None) -> None:
    for one in targets:
        while not _stands_still(one.pid, parked) and time.monotonic() < ends_s:
            time.sleep(_POLL_S)  # the kernel tells a stop only to the parent


def _stands_still(pid: int, parked: int | None) -> bool:
    """True when no thread of the process can run (stopped, dead or parked), or when there is no /proc."""
    try:
        threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return True
    return all(tid == parked or _stat(tid)[:1] in (["T"], ["t"], ["Z"], ["X"], []) for tid in threads)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the command name, which may hold spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def process_of(tid: int) -> int:
    """The pid of the process that a thread belongs to; the thread's own number when it can't be told."""
    try:
        lines = Path(f"/proc/{tid}/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return tid
    return next((int(line.split()[1]) for line in lines if line.startswith("Tgid:")), tid)


def parent_of(target: Identity) -> int | None:
    """The pid of its parent; None when it is gone."""
    try:
        return psutil.Process(target.pid).ppid()
    except psutil.NoSuchProcess:
        return None


def is_dead(target: Identity) -> bool:
    """True when it has ended, waited for or not."""
    return identify(target.pid) != target or is_zombie(target)


def wait_dead(targets: Iterable[Identity], deadline_s: float) -> list[Identity]:
    """Wait until every target is dead (a zombie is); those still alive after `deadline_s` seconds."""
    ends_s = time.monotonic() + deadline_s
    return [one for one in targets if not _wait_one(one, ends_s)]


def _wait_one(target: Identity, ends_s: float) -> bool:
    if not hasattr(os, "pidfd_open"):
        gone, _ = psutil.wait_procs([psutil.Process(target.pid)], max(0.0, ends_s - time.monotonic()))
        return bool(gone)
    try:
        handle = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return True
    try:
        if identify(target.pid) != target:
            return True
        left_ms = max(0.0, ends_s - time.monotonic()) * 1000
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(left_ms))
    finally:
        os.close(handle)


def is_zombie(target: Identity) -> bool:
    """True when the process is dead and not yet waited for by its parent."""
    try:
        return psutil.Process(target.pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_of(target: Identity) -> str:
    """What the process runs, for a report, programs and files without their folders; empty when it can't be told."""
    try:
        words = psutil.Process(target.pid).cmdline()
        return " ".join(Path(word).name if word.startswith("/") else word for word in words)[:200]
    except psutil.Error:
        return ""


def cpu_s(targets: Iterable[Identity]) -> float:
    """CPU seconds, user and system, that the processes and their ended children have used so far."""
    total_s = 0.0
    for one in targets:
        try:
            times = psutil.Process(one.pid).cpu_times()
        except psutil.Error:
            continue
        total_s += times.user + times.system + times.children_user + times.children_system
    return total_s


def disposition(pid: int, number: int) -> Disposition:
    """Whether the process handles or ignores the signal (SigCgt and SigIgn of /proc/PID/status)."""
    return Disposition(_in_mask(pid, ("SigCgt",), number), _in_mask(pid, ("SigIgn",), number))


def is_pending(pid: int, number: int) -> bool:
    """True while the signal was sent and not yet delivered (SigPnd and ShdPnd)."""
    return _in_mask(pid, ("SigPnd", "ShdPnd"), number)


def _in_mask(pid: int, fields: tuple[str, ...], number: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return False
    masks = dict(line.split(":", 1) for line in lines if ":" in line)
    return any(int(masks.get(field, "0").strip(), 16) >> (number - 1) & 1 for field in fields)
