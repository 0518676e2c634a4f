"""The harness's handle on a trial's warden: start, strike, count, end."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from socket import socketpair
from typing import Protocol

import msgspec

from killtest.errors import HarnessFailure, Refused, UsageError
from killtest.plan.fault import Scope
from killtest.process import isolation, memory_cgroup
from killtest.process.channel import Channel, Message
from killtest.process.server_kind import kind_of
from killtest.process.server_start import ServerStart
from killtest.process.socket_owner import Ends

_START_DEADLINE_S = 30.0
_END_DEADLINE_S = 15.0


class Trace(msgspec.Struct, frozen=True):
    """Watch the durable steps of an incarnation: calls on files below `root`, written to the file `log` if wanted.

    `skips_syncs`: a sync says that it has succeeded and is not executed, which is as good where no power is cut.
    """

    root: str
    log: str | None = None
    skips_syncs: bool = False


class Order(msgspec.Struct, frozen=True):
    """How to start one incarnation: command, environment, working folder, the files for its output, what to watch.

    `peers` are the incarnations of other copies that run beside it.
    """

    incarnation: int
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stdout: str
    stderr: str
    trace: Trace | None = None
    peers: tuple[int, ...] = ()


class Strike(msgspec.Struct, frozen=True):
    """What one signal did.

    `targets` are the pids it went to; `is_over` says that there is none because the subject had already ended, `main`
    whether the main process is among them; `settled` says that SIGKILL killed them all, or that another signal was
    delivered; `caught` and `ignored` are the dispositions, just before, of the main process (scope owner: of the
    owner). `t_s` and `settled_s` are CLOCK_MONOTONIC seconds. `incarnation` is whose processes they are,
    `resident_bytes` what an owner, or the target of an `oom`, held in memory.
    """

    targets: tuple[int, ...]
    t_s: float
    settled_s: float = 0.0
    caught: bool = False
    ignored: bool = False
    settled: bool = True
    main: bool = False
    is_over: bool = False
    incarnation: int | None = None
    resident_bytes: int | None = None


class Face(msgspec.Struct, frozen=True):
    """A process in a report: pid as the trial sees it, and its command line.

    `incarnation` is the one it belongs to, `started` its start in clock ticks since boot, `ports` what it listens on.
    """

    pid: int
    command: str
    incarnation: int = 0
    started: float = 0.0
    ports: tuple[int, ...] = ()


class Census(msgspec.Struct, frozen=True):
    """The subject's processes that outlive its main one: the living and the dead that nobody waited for."""

    orphans: tuple[Face, ...] = ()
    zombies: tuple[Face, ...] = ()


class Launcher(Protocol):
    """What a trial needs of the process side; the tests put a simulation in its place."""

    def start(self, order: Order) -> float:
        """Start an incarnation; the CLOCK_MONOTONIC second at which it was started."""

    def strike(
        self, signal: str, scope: Scope, wait_s: float, ends: Ends | None = None, incarnation: int | None = None
    ) -> Strike:
        """Signal that incarnation (the newest, where none is named) and wait, at most `wait_s`, until it took effect.

        The scope `owner` is the process whose request came over the connection `ends`; without it, who announced the
        last mark, or whom this scope last hit. CONT goes to whom an earlier STOP stopped, whatever the scope.
        """

    def arm_mark(self, incarnation: int, name: str, n: int) -> None:
        """Say `mark`, and keep the subject waiting, when that incarnation announces `name` for the n-th time."""

    def disarm_mark(self) -> None:
        """Forget the armed mark; who waits at one goes on waiting."""

    def forget(self) -> None:
        """Forget the armed mark or step, and let whoever waits at it go on."""

    def release_mark(self) -> None:
        """Answer the subject that waits at a mark."""

    def arm_step(self, name: str, n: int) -> None:
        """Say `step`, and park the call, when the incarnation is about to make the n-th call of that name."""

    def release_step(self) -> None:
        """Have the parked call executed, and wait for none."""

    def fail_steps(self, kind: str, times: int | None) -> None:
        """Have the newest incarnation's durable calls fail with that error, `times` of them (None: all)."""

    def failed_steps(self) -> tuple[int, tuple[str, ...]]:
        """How many of its calls have failed so, and their names, in the order in which each first did."""

    def limit_memory(self, size_bytes: int) -> str:
        """Let the subject's processes hold so much together, and kill the largest beyond it; how that is seen to."""

    def waits(self) -> tuple[str, ...]:
        """For each living process of the subject, in words, what it waits for."""

    def usage(self) -> tuple[float, int]:
        """CPU seconds used by the subject's living processes, and how many there are."""

    def mains(self) -> tuple[Face, ...]:
        """The main processes that run, and those of running copies that have left their trees, as daemons do."""

    def census(self, settle_s: float = 0.0) -> Census:
        """Who is left besides running copies, after at most `settle_s` seconds of waiting for it to end."""

    def hold_still(self) -> None:
        """Stop what is left, so that the store can be read."""

    def go_on(self) -> None:
        """Let what was stopped run again."""

    def kill_service(self, name: str) -> Strike:
        """SIGKILL that service and wait until it is dead."""

    def start_service(self, name: str) -> Strike:
        """Start it again on its folder and port, and wait for nothing."""

    def end_subject(self) -> None:
        """Kill every process of the subject that is left."""


class WardenLauncher:
    """A real warden process, in namespaces of its own where the machine allows it."""

    def __init__(self, inherit: Sequence[int] = ()) -> None:
        """Start the warden; while it lives it also keeps the descriptors `inherit` open (the campaign's lock)."""
        ours, theirs = socketpair()
        words = isolation.prefix()
        flag = ["isolated"] if words else []
        command = [*words, sys.executable, "-P", "-m", "killtest.process.warden", str(theirs.fileno()), *flag]
        self._process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(), *inherit), stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self.channel = Channel(ours, "warden")
        self.is_isolated = bool(words)
        self._cgroup: Path | None = None
        self.private = Path(self.channel.call("hello", within_s=_START_DEADLINE_S)["private"])

    def bind(self, source: Path, target: Path) -> None:
        """Have the folder `source` stand at `target` as well, for the trial's processes alone (mount_namespaces(7))."""
        self.channel.call("bind", source=str(source), target=str(target))

    def start_site(self, arguments: Sequence[str], errors: Path) -> str:
        """Start the site with its command-line `arguments`; its URL. Its stderr goes to the file `errors`."""
        port = str(isolation.SITE_PORT if self.is_isolated else 0)
        argv = [sys.executable, "-P", "-m", "killtest_testsite", *arguments, "--port", port]
        reply = self.channel.call("site", argv=argv, stderr=str(errors), within_s=_START_DEADLINE_S)
        return str(reply["ready"]["url"])

    def open_service(self, name: str, start: ServerStart, folder: Path) -> int:
        """Start a service of the trial in its folder, and wait until it can be used; its port on 127.0.0.1."""
        port = kind_of(name).PORT if self.is_isolated else 0
        told = {"name": name, "start": msgspec.to_builtins(start), "folder": str(folder), "port": port}
        return int(self.channel.call("service", **told, within_s=_START_DEADLINE_S)["port"])

    def start(self, order: Order) -> float:
        """Start an incarnation; UsageError when its program can't be executed."""
        try:
            reply = self.channel.call("start", **msgspec.to_builtins(order))
        except Refused as error:
            raise UsageError(f"can't execute {order.argv[0]!r} ({error}); command: {' '.join(order.argv)}") from None
        return float(reply["t_s"])

    def strike(
        self, signal: str, scope: Scope, wait_s: float, ends: Ends | None = None, incarnation: int | None = None
    ) -> Strike:
        """Signal an incarnation."""
        facts = {"signal": signal, "scope": scope, "wait_s": wait_s, "incarnation": incarnation}
        facts["ends"] = msgspec.to_builtins(ends)
        return msgspec.convert(self.channel.call("strike", **facts, within_s=wait_s + 10), Strike)

    def arm_mark(self, incarnation: int, name: str, n: int) -> None:
        """Wait for a mark."""
        self.channel.call("arm_mark", incarnation=incarnation, name=name, n=n)

    def disarm_mark(self) -> None:
        """Wait for no mark."""
        self.channel.call("disarm_mark")

    def forget(self) -> None:
        """Wait for nothing."""
        self.channel.call("forget")

    def release_mark(self) -> None:
        """Let whoever waits at a mark go on."""
        self.channel.call("release_mark")

    def arm_step(self, name: str, n: int) -> None:
        """Wait for a durable step."""
        self.channel.call("arm_step", name=name, n=n)

    def release_step(self) -> None:
        """Let the parked call go on."""
        self.channel.call("release_step")

    def fail_steps(self, kind: str, times: int | None) -> None:
        """Have durable calls fail."""
        self.channel.call("fail_steps", kind=kind, times=times)

    def failed_steps(self) -> tuple[int, tuple[str, ...]]:
        """How many have failed, and which."""
        reply = self.channel.call("failed_steps")
        return int(reply["calls"]), tuple(reply["names"])

    def hold_memory(self) -> None:
        """Before the first start, where memory will be limited: have all of the subject counted together."""
        name = memory_cgroup.name_of(os.getpid(), self.private.name.removeprefix("killtest-"))
        path = self.channel.call("hold_memory", name=name)["path"]
        self._cgroup = Path(path) if path else None

    def limit_memory(self, size_bytes: int) -> str:
        """Limit the memory."""
        return str(self.channel.call("limit_memory", size_bytes=size_bytes)["by"])

    def end_trace(self, within_s: float) -> bool:
        """True once every watched process has ended, all its steps seen; false when the supervisor failed or waits."""
        return bool(self.channel.call("end_trace", within_s=within_s, deadline_s=within_s)["ended"])

    def waits(self) -> tuple[str, ...]:
        """What the living processes wait for."""
        return tuple(self.channel.call("waits")["waits"])

    def usage(self) -> tuple[float, int]:
        """CPU seconds and number of the subject's living processes."""
        reply = self.channel.call("usage")
        return float(reply["cpu_s"]), int(reply["alive"])

    def mains(self) -> tuple[Face, ...]:
        """The main processes that run."""
        return msgspec.convert(self.channel.call("mains")["mains"], tuple[Face, ...])

    def census(self, settle_s: float = 0.0) -> Census:
        """Who is left."""
        return msgspec.convert(self.channel.call("census", settle_s=settle_s), Census)

    def hold_still(self) -> None:
        """Stop what is left."""
        self.channel.call("hold_still")

    def go_on(self) -> None:
        """Continue what was stopped."""
        self.channel.call("go_on")

    def kill_service(self, name: str) -> Strike:
        """Kill a service."""
        return _struck_alone(self.channel.call("kill_service", name=name))

    def start_service(self, name: str) -> Strike:
        """Start it again."""
        return _struck_alone(self.channel.call("start_service", name=name))

    def end_subject(self) -> None:
        """Kill what is left; HarnessFailure when something survives SIGKILL (uninterruptible sleep)."""
        survivors = self.channel.call("end_subject", within_s=_END_DEADLINE_S)["survivors"]
        if survivors:
            raise HarnessFailure(f"processes survived SIGKILL: {survivors}")

    def close(self) -> None:
        """End the warden and everything below it; a warden that does not answer is killed."""
        self.channel.close()
        try:
            self._process.wait(_END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Its warden removes them; one that was killed could not.
        shutil.rmtree(self.private, ignore_errors=True)
        if self._cgroup is not None:
            memory_cgroup.removed(self._cgroup)


def _struck_alone(reply: Message) -> Strike:
    """What was done to one process that is not the subject's."""
    return Strike((reply["pid"],), reply["t_s"], reply["settled_s"])
