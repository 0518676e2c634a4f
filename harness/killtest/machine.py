"""The machine a campaign or trial ran on: what a reader needs to judge a number by."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from statistics import median

import msgspec
import psutil

from killtest import __version__
from killtest.process import isolation
from killtest.process.server_kind import kind_of

_CRAWLERS = ("scrapy", "twisted", "requests", "selectolax", "lxml", "parsel", "queuelib", "django", "redis", "urllib3")
_NAMED = (*_CRAWLERS, "flask", "gevent", "pandas")


def describe(folder: Path, argv: list[str]) -> bytes:
    """environment.json: commit, versions, kernel, CPU, file system, isolation, and the command line."""
    facts = {
        "killtest": __version__,
        "commit": _commit(),
        "argv": argv,
        "folder": str(Path.cwd()),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in _NAMED},
        "sqlite": _sqlite(),
        "service": _service("valkey"),
        "postgres": _service("postgres"),
        "kernel": platform.release(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "filesystem": _filesystem(folder),
        "namespaces": bool(isolation.prefix()),
    }
    return msgspec.json.format(msgspec.json.encode(facts), indent=1) + b"\n"


class Weather(msgspec.Struct, frozen=True):
    """The load just before a trial: other work on two cores moved fsync from 0.08 to 4 ms and imports by 2 to 4."""

    load1: float
    fsync_ms: float


def weather(folder: Path) -> Weather:
    """One-minute load average, and the median of five fsyncs of 4 KiB in `folder`."""
    spans_ms = []
    with tempfile.TemporaryFile(dir=folder) as handle:
        for _ in range(5):
            handle.write(b"\0" * 4096)
            handle.flush()
            began_s = time.perf_counter()
            os.fsync(handle.fileno())
            spans_ms.append((time.perf_counter() - began_s) * 1000)
    return Weather(round(os.getloadavg()[0], 2), round(median(spans_ms), 3))


def _commit() -> str | None:
    """The checkout's commit, with "+" when files differ from it; None without a checkout."""
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        dirt = subprocess.run(["git", "-C", here, "status", "--porcelain"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if head.returncode else head.stdout.strip() + ("+" if dirt.stdout.strip() else "")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _sqlite() -> str:
    import sqlite3  # only here: the harness itself has no database

    return sqlite3.sqlite_version


def _service(name: str) -> str | None:
    """What stands behind the service of that name; None without a server."""
    found = kind_of(name).find()
    return f"{found.kind} {found.version}" if found else None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _filesystem(folder: Path) -> str | None:
    mounts = [m for m in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(m.mountpoint)]
    return max(mounts, key=lambda m: len(m.mountpoint)).fstype if mounts else None
