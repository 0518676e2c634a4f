"""What this machine can do for a kill test: each ability tried, and what to install or allow where it is missing."""

import ctypes
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from killtest import machine
from killtest.conduct import trial
from killtest.errors import KilltestError
from killtest.plan import subject
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Limits, SiteNeeds, StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from killtest.process import isolation, memory_cgroup
from killtest.process.server_kind import kind_of
from killtest.trace import seccomp

_PR_GET_CHILD_SUBREAPER = 37
_CAP_SYS_ADMIN = 21
# Every trigger and every signal once, in one trial of a program that asks for a page again and again.
_FAULTS = ("request:2 KILL", "response:1 INT", "after:0.3 TERM", "first+0.01 HUP", "request:1 QUIT")
_ASKER = """
import os, urllib.request
while int(os.environ["KILLTEST_INCARNATION"]) < 5:
    urllib.request.urlopen(os.environ["KILLTEST_SITE_URL"] + "/list/0").read()
"""
_SYSCTLS = {
    "kernel/apparmor_restrict_unprivileged_userns": "0",
    "kernel/unprivileged_userns_clone": "1",
}


class Ability(msgspec.Struct, frozen=True):
    """One thing that was tried: whether it works, what was seen, and what to do if it does not.

    Without a `basic` ability no trial can run; the others make trials better or give more output.
    """

    name: str
    works: bool
    detail: str
    advice: str | None = None
    basic: bool = False


class Facts(msgspec.Struct, frozen=True):
    """What decides about namespaces. `sysctls` holds the settings that this kernel has, by their path."""

    system: str
    unshare: str | None
    wanted: str
    refusal: str
    is_root: bool
    can_administer: bool
    in_container: bool
    sysctls: Mapping[str, str]


def survey(folder: Path) -> list[Ability]:
    """Try all of it; the disk is that of `folder`, where results would go."""
    return [
        *_struck(),
        _ports(),
        _namespaces(),
        _subreaper(),
        _pidfd(),
        _sockets(),
        _steps(),
        _memory(),
        _extra("scrapy", "the reference crawlers scrapy_jobdir and scrapy_durable"),
        _extra("report", "tables as CSV and figures"),
        _extra("explore", "restarts on another clock, so that leases need not be waited for"),
        _server("valkey", "Valkey or Redis", "apt install valkey-server or redis-server (7 or newer)", "reload"),
        _server("postgres", "PostgreSQL", "apt install postgresql (14 or newer)", "postgres"),
        _disk(folder),
        Ability("cores", True, f"{os.cpu_count()}"),
    ]


def _struck() -> list[Ability]:
    """Signals and triggers, proven by a trial in which each of them has to strike."""
    who = Subject(
        "doctor",
        ("{python}", "-c", _ASKER),
        StoreNeeds("files", "**/*", key="(.+)"),
        limits=Limits(total_s=20, grace_s=2, hold_s=2),
        site=SiteNeeds(products=2, list_pages=1),
    )
    with tempfile.TemporaryDirectory(prefix="killtest-doctor-") as folder:
        try:
            found = trial.run(Planned(who, Schedule("doctor", _FAULTS)), who.site, Path(folder) / "trial")
        except (KilltestError, OSError) as error:
            lines = f"{error}".splitlines() or ["no reason given"]
            advice = "please report it with this line: no trial can run here"
            return [Ability(name, False, lines[0], advice, basic=True) for name in ("signals", "triggers")]
    return judged_strikes({one.planned: one.status != "not_reached" for one in found.course.faults})


def judged_strikes(struck: Mapping[str, bool]) -> list[Ability]:
    """The abilities `signals` and `triggers` from the faults that were planned, and whether each struck."""
    missed = [planned for planned, did in struck.items() if not did]
    advice = f"did not strike: {', '.join(missed)}; on a busy machine try again, else please report it"
    signals = ", ".join(planned.split()[1] for planned in struck)
    triggers = ", ".join(dict.fromkeys(planned.replace("+", ":").partition(":")[0] for planned in struck))
    return [
        Ability(name, not missed, detail, advice if missed else None, basic=True)
        for name, detail in (("signals", signals), ("triggers", triggers))
    ]


def _ports() -> Ability:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return Ability("free ports", True, "a port on 127.0.0.1 can be had", basic=True)
    except OSError as error:
        return Ability("free ports", False, str(error), "allow listening on 127.0.0.1", basic=True)


def _namespaces() -> Ability:
    if isolation.prefix():
        return Ability("namespaces", True, "each trial has its own network and processes")
    detail, advice = namespace_advice(_facts())
    return Ability("namespaces", False, f"{detail}; trials use free ports instead", advice)


def _facts() -> Facts:
    settings = {name: Path("/proc/sys") / name for name in _SYSCTLS}
    return Facts(
        system=platform.system(),
        unshare=shutil.which("unshare"),
        wanted=os.environ.get("KILLTEST_ISOLATION", "namespaces"),
        refusal=isolation.refusal(),
        is_root=os.geteuid() == 0,
        can_administer=_can_administer(),
        in_container=any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")),
        sysctls={name: path.read_text("ascii").strip() for name, path in settings.items() if path.exists()},
    )


def _can_administer() -> bool:
    try:
        lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return False
    held = [int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")]
    return bool(held) and bool(held[0] >> _CAP_SYS_ADMIN & 1)


def namespace_advice(facts: Facts) -> tuple[str, str]:
    """Why there are no namespaces, and what to install or allow."""
    if facts.system != "Linux":
        return f"{facts.system} has none", "run killtest on Linux for trials that are cut off from one another"
    if facts.wanted == "none":
        return "switched off by KILLTEST_ISOLATION=none", "unset KILLTEST_ISOLATION"
    if facts.unshare is None:
        return "the program unshare is not there", "apt install util-linux"
    if not facts.is_root:
        for name, value in _SYSCTLS.items():
            if facts.sysctls.get(name, value) != value:
                setting = name.replace("/", ".")
                return f"{setting} = {facts.sysctls[name]} forbids them", f"sudo sysctl -w {setting}={value}"
    seen = f"unshare: {facts.refusal or 'refused'}"
    if facts.in_container or (facts.is_root and not facts.can_administer):
        lacks = "" if facts.can_administer else " without CAP_SYS_ADMIN"
        flags = "--cap-add=SYS_ADMIN --security-opt apparmor=unconfined --security-opt seccomp=unconfined"
        return f"a container{lacks}; {seen}", f"docker run {flags}"
    return seen, "ask whoever runs this machine to allow user, network and PID namespaces"


def _subreaper() -> Ability:
    """Whether the kernel knows subreapers: asked, not set, so that nothing changes for this process."""
    answer = ctypes.c_int()
    works = sys.platform.startswith("linux") and not ctypes.CDLL(None).prctl(
        _PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0
    )
    detail = "processes whose parent died stay in sight" if works else "prctl(2) does not offer it"
    return Ability("subreaper", works, detail, None if works else "Linux 3.4 or newer; without it orphans escape")


def _pidfd() -> Ability:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        advice = "Linux 5.3 or newer, and a container that allows pidfd_open; without it a reused pid is told by time"
        return Ability("pidfd", False, str(error), advice)
    return Ability("pidfd", True, "a signal can't hit a process that took over the pid")


def _steps() -> Ability:
    refusal = seccomp.refusal()
    if refusal:
        advice = "Linux 5.19 and a container whose seccomp profile allows it; without it: killtest sweep"
        return Ability("durable steps", False, f"seccomp user notification: {refusal}", advice)
    return Ability("durable steps", True, "killtest explore and the trigger syscall see them")


def _memory() -> Ability:
    """Whether a limit of memory can be the kernel's; what a killed harness left of such limits is removed first."""
    left = memory_cgroup.sweep()
    swept = f"; {left} left behind by killed runs removed" if left else ""
    made = memory_cgroup.make(memory_cgroup.name_of(os.getpid(), "doctor"))
    if made is None:
        advice = "run as root, or in a container that may make memory cgroups; without one the warden looks and kills"
        return Ability("memory limits", False, f"no memory cgroup can be made{swept}", advice)
    made.remove()
    return Ability("memory limits", True, f"the kernel's, in a memory cgroup (version {made.version}){swept}")


def _sockets() -> Ability:
    try:
        with open("/proc/net/tcp", "rb") as table:
            table.readline()
    except OSError as error:
        advice = "mount /proc; without it a client that closed its half is not told from one that died"
        return Ability("/proc/net/tcp", False, str(error), advice)
    return Ability("/proc/net/tcp", True, "a client that died is told from one that closed its half")


def _extra(name: str, what: str) -> Ability:
    missing = subject.missing_of_extra(name)
    if missing:
        detail = f"for {what}; not installed: {', '.join(missing)}"
        return Ability(f"extra {name}", False, detail, f"pip install 'killtest[{name}]'")
    return Ability(f"extra {name}", True, f"for {what}")


def _server(service: str, kinds: str, advice: str, extra: str) -> Ability:
    found = kind_of(service).find()
    if found is None:
        advice = f"{advice}, or pip install 'killtest[{extra}]'"
        return Ability(service, False, f"no {kinds} server: for subjects that need one", advice)
    return Ability(service, True, f"{found.kind} {found.version}: {found.path}")


def _disk(folder: Path) -> Ability:
    try:
        weather = machine.weather(folder)
    except OSError as error:
        return Ability("disk", False, f"{folder}: {error.strerror or error}", "give a --results that can be written")
    return Ability("disk", True, f"fsync of 4 KiB: {weather.fsync_ms} ms here; load {weather.load1}")
