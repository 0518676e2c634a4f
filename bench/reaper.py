"""Waits for processes and for what they leave behind, and says what CPU time they all took. Linux only."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Collection

import psutil

PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.02
ORPHANS_S = 10.0


def adopt_orphans() -> None:
    """From now on a descendant whose parent has ended becomes our child, so that its CPU time is not lost."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this kernel lets no process adopt orphans")


def reaped(
    processes: list[subprocess.Popen[bytes]], keep: Collection[int], deadline_s: float
) -> tuple[list[int], float]:
    """Wait for all of them, then for every other child but `keep`: the exit codes, the CPU seconds of them all.

    A process's time has that of the children it waited for in it, and those it did not wait for come to us: each is
    counted once. At the deadline (seconds from now) all are killed and the program ends; an orphan that
    outlives them for 10 s counts as a failure too.
    """
    until_s = time.monotonic() + deadline_s
    cpu_s = sum(_wait(process.pid, until_s, process) for process in processes)
    until_s = time.monotonic() + ORPHANS_S
    while orphans := [child.pid for child in psutil.Process().children() if child.pid not in keep]:
        cpu_s += sum(_wait(pid, until_s) for pid in orphans)
    return [process.returncode for process in processes], cpu_s


def _wait(pid: int, until_s: float, process: subprocess.Popen[bytes] | None = None) -> float:
    """The CPU seconds of a child that ended, which is then gone."""
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            if process is not None:
                process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > until_s:
            for child in psutil.Process().children(recursive=True):
                child.kill()
            sys.exit(f"process {pid} did not end in time: everything was killed, no figures are shown")
        time.sleep(LOOK_S)
