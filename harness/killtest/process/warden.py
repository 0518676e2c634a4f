"""The warden: one process per trial that starts site, services and incarnations, signals them, and outlives none.

It is run by the harness as `python -m killtest.process.warden FD` with one end of a socket pair, speaks JSON lines
(`Warden.commands`), and ends with everything below it as soon as that socket closes, however the harness
ended. It is its descendants' subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so that a process whose parent
died stays in sight; inside a PID namespace it is the init.
"""

import contextlib
import ctypes
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from killtest.process import outputs, socket_owner
from killtest.process import process_tree as tree
from killtest.process.blows import Blows
from killtest.process.checkpoints import Checkpoints
from killtest.process.isolation import bind, drop_capabilities, raise_loopback
from killtest.process.kin import Kin
from killtest.process.memory_limit import MemoryLimit, largest_of, resident_bytes_of
from killtest.process.process_tree import Identity
from killtest.process.roll import Roll
from killtest.process.services import Services
from killtest.process.waits import waits_for

Message = dict[str, Any]
_PR_SET_CHILD_SUBREAPER = 36
_DEATH_DEADLINE_S = 5.0
_SITE_START_DEADLINE_S = 20.0
_POLL_PENDING_S = 0.0005


class Warden:
    """The state of one trial's processes."""

    def __init__(self, harness: socket.socket) -> None:
        """Serve the harness at the other end of `harness`."""
        self._harness = harness
        self._buffer = b""
        self._private = _short_folder()
        self._site: subprocess.Popen[bytes] | None = None
        self._mains: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}
        self._kin = Kin()
        self._roll = Roll(self._kin, self._running, self._reap)
        self._blows = Blows(self._kin)
        self._checkpoints = Checkpoints(self._private, self._kin, self._say)
        self._services = Services(self._kin)
        self._memory = MemoryLimit(self._kin, self._say)
        self._outputs = outputs.Outputs(self._output_cut)
        self._saying = threading.Lock()
        self._is_running = True
        self.commands: dict[str, Callable[[Message], Message]] = {
            "hello": self._hello,
            "bind": self._bind,
            "site": self._start_site,
            **self._services.commands,
            "start": self._start,
            "strike": self._strike,
            **self._checkpoints.commands,
            **self._memory.commands,
            "usage": self._usage,
            "waits": self._waits,
            **self._roll.commands,
            "hold_still": self._hold_still,
            "go_on": self._go_on,
            "end_subject": self._end_subject,
            "bye": self._bye,
        }

    def serve(self) -> None:
        """Answer until the harness says bye or goes; then end all that is left and remove the private folder."""
        waker, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        selector = selectors.DefaultSelector()
        selector.register(self._harness, selectors.EVENT_READ, self._listen)
        selector.register(waker, selectors.EVENT_READ, lambda: self._wake(waker))
        selector.register(self._checkpoints.marks, selectors.EVENT_READ, self._checkpoints.marks.look)
        try:
            while self._is_running:
                for key, _ in selector.select(self._memory.look_every_s(outputs.LOOK_EVERY_S)):
                    key.data()
                self._outputs.look()
                self._memory.look()
        finally:
            self._end_everything()

    def _listen(self) -> None:
        try:
            data = self._harness.recv(1 << 20)
        except ConnectionResetError:
            data = b""  # the harness has gone with something of ours unread
        if not data:
            self._is_running = False
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._answer(msgspec.json.decode(line))

    def _answer(self, request: Message) -> None:
        try:
            reply = self.commands[request["do"]](request)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        self._say({"ok": True, **reply, "id": request["id"]})

    def _say(self, message: Message) -> None:
        try:
            with self._saying:  # a supervisor speaks from a thread of its own
                self._harness.sendall(msgspec.json.encode(message) + b"\n")
        except OSError:
            # The harness is gone; the closed socket ends the loop.
            self._is_running = False

    def _hello(self, _: Message) -> Message:
        return {"pid": os.getpid(), "private": str(self._private)}

    def _bind(self, request: Message) -> Message:
        bind(request["source"], request["target"])
        return {}

    def _start_site(self, request: Message) -> Message:
        argv = [word.replace("{private}", str(self._private)) for word in request["argv"]]
        with open(request["stderr"], "ab") as errors:
            self._site = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        self._kin.outsiders.add(self._site.pid)
        return {"ready": _first_line(self._site, request["stderr"])}

    def _start(self, request: Message) -> Message:
        """Start an incarnation in a session of its own, output to files, signals at their defaults."""
        left = self._roll.left()
        self._outputs.watch(request["stdout"], request["stderr"])
        with open(request["stdout"], "ab") as out, open(request["stderr"], "ab") as errors:
            watch = self._checkpoints.watched(request["trace"], request["incarnation"])
            started_s = time.monotonic()
            try:
                process = subprocess.Popen(
                    request["argv"],
                    env=request["env"],
                    cwd=request["cwd"],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                    preexec_fn=_before(self._memory.enter, watch.hand_over if watch else None),  # noqa: PLW1509 - few calls
                )
            finally:
                if watch:
                    watch.started()
        self._mains[process.pid] = (request["incarnation"], process)
        self._kin.begin(process.pid, request["incarnation"], left, request["peers"])
        return {"pid": process.pid, "t_s": started_s}

    def _strike(self, request: Message) -> Message:
        number = signal.Signals[f"SIG{request['signal']}"]
        owner = self._owner(request)
        incarnation = self._struck_incarnation(owner, request["incarnation"])
        main = self._kin.main_of(incarnation)
        if request["scope"] == "largest":
            # Chosen once: while they are being stopped another may become the largest.
            owner = largest_of(self._kin.scope("tree", main, None))
        resident_bytes = None if owner is None else resident_bytes_of(owner)
        faces = tree.disposition(owner.pid if owner else main.pid if main else 0, number)
        targets = self._blows.targets(
            number, lambda: self._kin.scope(request["scope"], main, owner), self._checkpoints.parked
        )
        is_over = main is None or tree.is_dead(main)
        if number != signal.SIGCONT and is_over:
            # It ended by itself while it was being stopped: the signal would hit a zombie and kill nobody.
            self._blows.spare(targets)
            targets = []
        if not targets:
            return {"targets": [], "t_s": time.monotonic(), "is_over": is_over}
        struck_s = time.monotonic()
        hit = self._blows.send(targets, number)
        if number != signal.SIGKILL:
            self._checkpoints.release_step()  # only SIGKILL reaches a parked thread: others take effect behind its call
        settled = self._settled(hit, number, request["wait_s"])
        facts: Message = {"caught": faces.caught, "ignored": faces.ignored, "settled": settled, "main": main in hit}
        facts |= {"incarnation": incarnation, "resident_bytes": resident_bytes}
        return {"targets": [one.pid for one in hit], "t_s": struck_s, "settled_s": time.monotonic(), **facts}

    def _struck_incarnation(self, owner: Identity | None, asked: int | None) -> int | None:
        """Whose main process counts: of an owner its own, unless that incarnation has ended."""
        own = None if owner is None else self._kin.incarnation_of(owner)
        return own if own in self._running() else asked

    def _running(self) -> set[int]:
        return {incarnation for incarnation, _ in self._mains.values()}

    def _owner(self, request: Message) -> Identity | None:
        """Whose request is held (`ends` of its connection); without one, the last owner there was."""
        if request["scope"] != "owner":
            return None
        if request["ends"] is not None:
            ends = msgspec.convert(request["ends"], socket_owner.Ends)
            self._checkpoints.last_owner = socket_owner.owner(ends, self._kin.living())
        return self._checkpoints.last_owner

    def _settled(self, targets: list[Identity], number: int, wait_s: float) -> bool:
        """True once SIGKILL has killed all targets, or another signal has been delivered to each (or it is dead)."""
        if number == signal.SIGSTOP:
            return True  # they were stopped to find them all
        if number == signal.SIGKILL:
            return not tree.wait_dead(targets, wait_s)
        ends_s = time.monotonic() + wait_s
        while any(tree.is_pending(one.pid, number) and not tree.is_zombie(one) for one in targets):
            if time.monotonic() > ends_s:
                return False
            time.sleep(_POLL_PENDING_S)  # the kernel offers nothing to wait on for "no longer pending"
        return True

    def _output_cut(self, path: str, dropped_bytes: int) -> None:
        self._say({"event": "output_cut", "path": path, "dropped_bytes": dropped_bytes, "t_s": time.monotonic()})

    def _usage(self, _: Message) -> Message:
        living = self._kin.living()
        return {"cpu_s": tree.cpu_s(living), "alive": len(living)}

    def _waits(self, _: Message) -> Message:
        living = [one for one in self._kin.living() if not tree.is_zombie(one)]
        return {"waits": [f"{one.pid} {tree.command_of(one)[:80]}: {waits_for(one)}" for one in living]}

    def _hold_still(self, _: Message) -> Message:
        return {"stopped": self._blows.hold_still()}

    def _go_on(self, _: Message) -> Message:
        return {"continued": self._blows.go_on()}

    def _end_subject(self, _: Message) -> Message:
        targets = tree.stop_until_still(self._kin.living)
        for one in targets:
            tree.send(one, signal.SIGKILL)
        survivors = tree.wait_dead(targets, _DEATH_DEADLINE_S)
        self._reap()
        return {"ended": len(targets), "survivors": [self._roll.face(one) for one in survivors]}

    def _bye(self, _: Message) -> Message:
        self._is_running = False
        return {}

    def _wake(self, waker: int) -> None:
        os.read(waker, 4096)
        self._memory.look()  # whom the kernel has killed is told before his exit
        self._reap()

    def _reap(self) -> None:
        """Wait for every dead child: a main process's end is news, an orphan's end is what init would see."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._report(pid, os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)

    def _report(self, pid: int, code: int, rss_bytes: int) -> None:
        if self._site is not None and pid == self._site.pid:
            self._site.returncode = code
            self._say({"event": "site_exit", "code": code, "t_s": time.monotonic()})
        elif pid in self._mains:
            incarnation, process = self._mains.pop(pid)
            process.returncode = code
            facts = {"code": code, "rss_bytes": rss_bytes, "t_s": time.monotonic()}
            self._say({"event": "exit", "incarnation": incarnation, **facts})
        elif (event := self._services.exited(pid, code)) is not None:
            self._say(event)

    def _end_everything(self) -> None:
        if os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):  # nobody: the harness went before the site was started
                os.kill(-1, signal.SIGKILL)  # all of the namespace but ourselves, at once
        self._end_subject({})
        self._memory.close()
        self._services.end()
        if self._site is not None and self._site.returncode is None:
            self._site.kill()
            self._site.wait()
        shutil.rmtree(self._private, ignore_errors=True)


def _before(*tasks: Callable[[], None] | None) -> Callable[[], None] | None:
    """What a child does before it becomes the program; None when there is nothing."""
    wanted = [task for task in tasks if task is not None]

    def run() -> None:
        for task in wanted:
            task()

    return run if wanted else None


def _short_folder() -> Path:
    """A new private folder with a short path: a UNIX socket's address holds about 100 bytes."""
    return Path(tempfile.mkdtemp(prefix="killtest-", dir="/tmp" if os.access("/tmp", os.W_OK) else None))


def _first_line(site: subprocess.Popen[bytes], errors: str) -> Any:
    """The site's ready line; OSError when it ends or is silent instead."""
    assert site.stdout is not None
    readable, _, _ = select.select([site.stdout], [], [], _SITE_START_DEADLINE_S)
    line = site.stdout.readline() if readable else b""
    if not line:
        raise OSError(f"the site did not start; what it said is in {errors}")
    return msgspec.json.decode(line)


def _prepare() -> None:
    """Become subreaper, and hand no ignored or blocked signal down: exec keeps SIG_IGN but resets handlers."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) in (signal.SIG_IGN, signal.SIG_DFL) and number in _POLITE:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_POLITE = {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP}


def main() -> None:
    """Serve the harness on the socket whose descriptor is the only argument."""
    _prepare()
    if "isolated" in sys.argv:
        raise_loopback()
        drop_capabilities()
    Warden(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
