"""A memory cgroup for a trial's subject (cgroups(7)), version 1 or 2, where this process may make one.

It lies below the cgroup that we are in, so that what limits us limits it as well. Its name tells whose it is, so that
one that was left behind can be told from one in use.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from killtest.process import process_tree as tree
from killtest.process.process_tree import Identity

_PREFIX = "killtest-"
_REMOVE_DEADLINE_S = 2.0
_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class MemoryCgroup:
    """One that exists, at `path`; `version` is 1 or 2."""

    path: Path
    version: int

    def enter(self) -> None:
        """Put the calling process into it, and with it the children to come."""
        (self.path / "cgroup.procs").write_text("0")

    def limit(self, size_bytes: int) -> None:
        """Limit it, swap included. OSError (EBUSY, version 1) while it holds more."""
        first, then = ("memory.max", "memory.swap.max") if self.version == 2 else _NAMES_1
        (self.path / first).write_text(str(size_bytes))
        with contextlib.suppress(OSError):  # where swap is not accounted for there is nothing to limit
            (self.path / then).write_text("0" if self.version == 2 else str(size_bytes))

    def members(self) -> list[Identity]:
        """The processes in it."""
        try:
            pids = (self.path / "cgroup.procs").read_text().split()
        except OSError:
            return []
        return [one for pid in pids if (one := tree.identify(int(pid))) is not None]

    def kills(self) -> int:
        """How many processes the kernel has killed because of the limit."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        lines = dict(line.split() for line in (self.path / name).read_text().splitlines())
        return int(lines.get("oom_kill", 0))

    def most_bytes(self) -> int | None:
        """The most it has ever held; None where the kernel does not tell (version 2 before Linux 5.19)."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        try:
            return int((self.path / name).read_text())
        except OSError:
            return None

    def remove(self) -> None:
        """Remove it, once its last process has ended; one that somebody lives in stays."""
        ends_s = time.monotonic() + _REMOVE_DEADLINE_S
        while not removed(self.path) and time.monotonic() < ends_s:
            time.sleep(_POLL_S)  # the last process is dead, and the kernel has not let go of it yet


_NAMES_1 = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")


def name_of(owner: int, suffix: str) -> str:
    """A name for one whose trials the process `owner` runs."""
    one = tree.identify(owner)
    return f"{_PREFIX}{_namespace()}-{owner}-{one.started if one else 0:.0f}-{suffix}"


def _namespace() -> int:
    """Which PID namespace the numbers in a name are of."""
    return Path("/proc/self/ns/pid").stat().st_ino


def make(name: str) -> MemoryCgroup | None:
    """A new one of that name; None where this machine does not let us."""
    for parent, version in _parents():
        path = parent / name
        try:
            if version == 2:
                (parent / "cgroup.subtree_control").write_text("+memory")
            path.mkdir()
        except OSError:
            continue
        needed = "memory.max" if version == 2 else _NAMES_1[0]
        if os.access(path / needed, os.W_OK):
            return MemoryCgroup(path, version)
        removed(path)
    return None


def _parents() -> Iterator[tuple[Path, int]]:
    """The cgroup that we are in, of each hierarchy that limits memory, and the version of that."""
    for mount, version in _mounts():
        own = _own(version)
        # In a container the path may be told as it is outside.
        for place in ([mount / own.lstrip("/")] if own else []) + [mount]:
            if (place / "cgroup.procs").is_file():
                yield place, version
                break


def _mounts() -> list[tuple[Path, int]]:
    """Where hierarchies that limit memory are mounted (proc(5), mountinfo), and their versions."""
    found = []
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    for line in lines:
        before, _, behind = line.partition(" - ")
        kind, _, options = behind.split(maxsplit=2)
        if kind == "cgroup" and "memory" in options.split(","):
            found.append((Path(before.split()[4]), 1))
        if kind == "cgroup2":
            found.append((Path(before.split()[4]), 2))
    return found


def _own(version: int) -> str | None:
    """Our path in that hierarchy."""
    lines = Path("/proc/self/cgroup").read_text("utf-8", "replace").splitlines()
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if (version == 2 and not controllers) or (version == 1 and "memory" in controllers.split(",")):
            return path
    return None


def removed(path: Path) -> bool:
    """Remove the cgroup at that path; false while it is in use."""
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def sweep() -> int:
    """Remove those whose harness is no longer there, and that nobody lives in; how many they were."""
    count = 0
    for mount, _ in _mounts():
        for path in sorted(mount.rglob(f"{_PREFIX}*")):
            count += path.is_dir() and _is_left_behind(path.name) and removed(path)
    return count


def _is_left_behind(name: str) -> bool:
    """Whether the owner in the name, of this PID namespace, has ended."""
    words = name.removeprefix(_PREFIX).split("-")
    if len(words) != 4 or words[0] != str(_namespace()) or not (words[1] + words[2]).isdigit():
        return False
    return tree.identify(int(words[1])) != Identity(int(words[1]), float(words[2]))
