"""The real servers that a subject relies on: started for one trial, killed by its faults, ended with it."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from killtest.process import process_tree as tree
from killtest.process.kin import Kin
from killtest.process.process_tree import Identity
from killtest.process.server_kind import kind_of
from killtest.process.server_start import ServerStart, data_words

Message = dict[str, Any]
_READY_DEADLINE_S = 20.0
_DEATH_DEADLINE_S = 5.0
_LOOK_AGAIN_S = 0.005
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Service:
    """One server: how it is started, on which port, and its process while it lives."""

    def __init__(self, name: str, start: ServerStart, folder: str, port: int) -> None:
        """Nothing runs yet; it will listen on that port of 127.0.0.1."""
        self.name = name
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None
        self._how = start
        self._folder = folder

    @property
    def log(self) -> str:
        """The file with all that it prints."""
        return f"{self._folder}/log"

    def start(self) -> int:
        """Start it on its folder as that is; its pid."""
        how = self._how
        argv = [word.replace("{port}", str(self.port)) for word in how.argv]
        with open(self.log, "ab") as log, data_words(argv, how.data, how.owner) as (words, options):
            # A change of user takes the death signal away, so it is asked for behind that, where preexec_fn is called.
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one system call
                **{"cwd": self._folder, **options},
            )
        return self.process.pid

    def kill(self) -> int:
        """SIGKILL it with all below it and wait until they are dead; the pid it had.

        PostgreSQL's children lead sessions of their own and live on for a moment: none may be left that still has
        the memory which they share, or the server would not start again.
        """
        process = self.process
        if process is None:
            raise OSError(f"the service {self.name} is not running")
        # Not reaped yet, so the number is still its own. First all stand still, so that nobody is born meanwhile.
        dying = tree.stop_until_still(lambda: _with_descendants(process.pid), _DEATH_DEADLINE_S)
        for one in dying:
            tree.send(one, signal.SIGKILL)
        if tree.wait_dead(dying, _DEATH_DEADLINE_S):
            raise OSError(f"the service {self.name} survived SIGKILL")
        process.wait()
        self.process = None
        for one in dying:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one.pid, os.WNOHANG)  # what it left behind is ours by now
        return process.pid

    def end(self) -> None:
        """Kill it for good, and remove what it had on the machine outside its folder."""
        if self.process is not None:
            self.kill()
        kind_of(self.name).clear(Path(self._folder))

    def wait_ready(self) -> None:
        """Until it can be used; OSError, with its last words, when it ends or takes too long."""
        ends_s = time.monotonic() + _READY_DEADLINE_S
        kind = kind_of(self.name)
        while (refusal := kind.refusal(self.port)) is not None:
            if refusal:
                raise OSError(f"the service {self.name} {refusal}")
            if self.process is not None and self.process.poll() is not None:
                self.process = None
            if self.process is None or time.monotonic() > ends_s:
                raise OSError(f"the service {self.name} did not start: {self.last_words()} (all it said: {self.log})")
            time.sleep(_LOOK_AGAIN_S)  # a server offers nothing to wait on before it listens

    def last_words(self) -> str:
        """The last line that it printed."""
        lines = Path(self.log).read_text("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


class Services:
    """The services of one trial, on the warden's side. They are no kin of the subject's."""

    def __init__(self, kin: Kin) -> None:
        """None yet."""
        self._kin = kin
        self._all: dict[str, Service] = {}
        self._reserved: list[socket.socket] = []
        self.commands: dict[str, Callable[[Message], Message]] = {
            "service": self._open,
            "kill_service": self._kill,
            "start_service": self._start,
        }

    def exited(self, pid: int, code: int) -> Message | None:
        """The event to send if the process that was just reaped is a service's, which has ended by itself."""
        for one in self._all.values():
            if one.process is not None and one.process.pid == pid:
                one.process.returncode = code
                one.process = None
                self._kin.outsiders.discard(pid)
                facts = {"code": code, "log": one.log, "said": one.last_words(), "t_s": time.monotonic()}
                return {"event": "service_exit", "name": one.name, **facts}
        return None

    def end(self) -> None:
        """Kill those that run, and let go of their ports."""
        for one in self._all.values():
            one.end()
        for holder in self._reserved:
            holder.close()
        self._reserved.clear()

    def _open(self, request: Message) -> Message:
        """Start a service for the trial, and wait until it can be used; on which port it is."""
        holder = _bound(request["port"])
        start = msgspec.convert(request["start"], ServerStart)
        one = Service(request["name"], start, request["folder"], holder.getsockname()[1])
        if sys.platform.startswith("linux"):
            # Its port must be free when it comes back, whoever looks for one meanwhile. A bound socket keeps others
            # away; one that also says SO_REUSEADDR, as servers do, may bind and listen there all the same.
            self._reserved.append(holder)
        else:
            holder.close()
        self._all[one.name] = one
        self._kin.outsiders.add(one.start())
        one.wait_ready()
        return {"port": one.port}

    def _kill(self, request: Message) -> Message:
        killed_s = time.monotonic()
        pid = self._all[request["name"]].kill()
        self._kin.outsiders.discard(pid)
        return {"pid": pid, "t_s": killed_s, "settled_s": time.monotonic()}

    def _start(self, request: Message) -> Message:
        started_s = time.monotonic()
        pid = self._all[request["name"]].start()
        self._kin.outsiders.add(pid)
        return {"pid": pid, "t_s": started_s, "settled_s": time.monotonic()}


def _bound(port: int) -> socket.socket:
    """A bound socket on that port of 127.0.0.1, for 0 on a free one, that listens to nobody."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        holder.close()
        raise
    return holder


def _with_descendants(pid: int) -> list[Identity]:
    main = tree.identify(pid)
    return ([] if main is None else [main]) + tree.descendants(pid)


def _end_with_parent() -> None:
    """Die when the warden does, however it ends. Linux alone offers that."""
    if sys.platform.startswith("linux"):
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
