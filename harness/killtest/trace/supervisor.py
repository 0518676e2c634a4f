"""The supervisor: sees each durable step of an incarnation before it is taken, logs it, parks the one waited for."""

import os
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from killtest.trace import memory, seccomp
from killtest.trace.calls import Call, by_number
from killtest.trace.failing import Failing
from killtest.trace.seccomp import Notification
from killtest.trace.step import Step

ANY = "step"
_MINUS_1 = (1 << 64) - 1


class Supervisor:
    """Watches one incarnation from its start, in a thread of its own, until its last process has ended."""

    def __init__(
        self,
        root: str,
        log: Path | None,
        due: Callable[[Step], None],
        failed: Callable[[Step], None] = lambda _: None,
        skips_syncs: bool = False,
    ) -> None:
        """Steps are calls on files below `root`; they go to `log`, with what they write, when there is one.

        `due` is called, from the thread, when the armed step is parked, `failed` at the first that is made to fail.
        With `skips_syncs` syncs succeed and are not executed.
        """
        self._skips_syncs = skips_syncs
        self._failed = failed
        self.failing: Failing | None = None
        self._root = root.rstrip("/") + "/"
        self._log: BinaryIO | None = log.open("wb") if log else None
        self._due = due
        self._calls = by_number()
        self._counts: Counter[str] = Counter()
        self._armed: tuple[str, int] | None = None
        self._go_on = threading.Event()
        self.parked: int | None = None
        self._is_whole = False
        self._ours, self._theirs = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()

    def hand_over(self) -> None:
        """In the child, between fork and exec: filter its calls and hand the listener to the supervisor."""
        # sendmsg is not filtered, so that this goes through although nobody answers yet.
        socket.send_fds(self._theirs, [b"L"], [seccomp.install()])

    def started(self) -> None:
        """In the parent, when the child runs (or could not be started): let go of the child's end."""
        self._theirs.close()

    def disarm(self) -> None:
        """Wait for nothing; let go what is parked."""
        self._armed = None
        self._go_on.set()

    def arm(self, name: str, n: int) -> None:
        """Park the n-th call of that name, counted from the incarnation's start; `step` counts all of them."""
        self._armed = (name, n)

    def release(self) -> None:
        """Let the parked call be executed."""
        self._go_on.set()

    def join(self, deadline_s: float) -> bool:
        """Wait until all supervised processes have ended; true when every call of theirs was seen.

        False after the deadline, and when the supervisor itself failed: from then on the calls that it should have let
        through failed, which is no fault of the subject.
        """
        self._thread.join(deadline_s)
        return self._is_whole

    def _watch(self) -> None:
        with self._ours:
            _, fds, _, _ = socket.recv_fds(self._ours, 1, 1)
        if not fds:
            self._is_whole = True  # it could not be started: there was nothing to see
            return
        listener = fds[0]
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        try:
            while not any(news & (select.POLLHUP | select.POLLERR) for _, news in poll.poll()):
                call = seccomp.receive(listener)
                if call is not None:
                    step = self._step(call)
                    if step is not None:
                        self._park_if_armed(step)
                    error = self._error_of(step) if step else 0
                    if step is not None and (error or (self._skips_syncs and step.effect == "sync")):
                        seccomp.answer(listener, call, error)
                    else:
                        seccomp.let_go(listener, call)
                    # Behind the answer: the subject goes on while its step is written down.
                    if step is not None and self._log is not None and not error:
                        self._log.write(_line(step))
            self._is_whole = True
        finally:
            os.close(listener)
            if self._log is not None:
                self._log.close()

    def _error_of(self, step: Step) -> int:
        """The errno that the step fails with on purpose; 0 for one that is to be taken."""
        failing = self.failing
        error = failing.error_of(step, self._root) if failing else 0
        if failing and error and failing.calls == 1:
            self._failed(step)
        return error

    def _park_if_armed(self, step: Step) -> None:
        """Keep the step waiting if it is the armed one."""
        if self._armed in ((step.call, step.n), (ANY, step.k)):
            self._armed = None
            self._go_on.clear()
            self.parked = step.tid
            self._due(step)
            self._go_on.wait()
            self.parked = None

    def _step(self, notification: Notification) -> Step | None:
        call, tid = self._calls[notification.number], notification.tid
        try:
            place = self._place(call, notification)
            if place is None:
                return self._sync_of_root(call, notification)
            path, path2 = place
            facts = self._facts(call, tid, notification.args) if path else {}
        except OSError:
            return None  # it was killed while we looked, and the call with it
        self._counts[call.name] += 1
        self._counts[ANY] += 1
        k, n = self._counts[ANY], self._counts[call.name]
        return Step(k, n, time.monotonic(), tid, call.name, call.effect, path, path2, **facts)

    def _sync_of_root(self, call: Call, notification: Notification) -> Step | None:
        """A sync of the root itself, which is written down and not counted; None for anything else."""
        tid = notification.tid
        if call.effect != "sync" or memory.file_of(tid, notification.args[call.fd or 0]) != self._root[:-1]:
            return None
        return Step(0, 0, time.monotonic(), tid, call.name, call.effect, "")

    def _place(self, call: Call, notification: Notification) -> tuple[str, str | None] | None:
        """The files that it is about, below the root; None when none of them is."""
        tid, args = notification.tid, notification.args
        if call.fd is not None:
            path = self._below(memory.file_of(tid, args[call.fd]))
            # SQLite's shared memory is always mapped, and worthless once every process is dead.
            is_nothing = path is None or (call.name == "mmap" and path.endswith("-shm"))
            return None if path is None or is_nothing else (path, None)
        if call.name == "bind" and not memory.is_unix_path(tid, args[1]):
            return None
        assert call.path is not None
        if call.effect == "symlink":
            assert call.path2 is not None
            path = self._below(self._named(tid, call.at2, call.path2, args))
            return None if path is None else (path, memory.text(tid, args[call.path]))
        skip = 2 if call.name == "bind" else 0  # struct sockaddr_un begins with its family
        first = self._below(self._named(tid, call.at, call.path, args, skip))
        second = None if call.path2 is None else self._below(self._named(tid, call.at2, call.path2, args))
        if first is None and second is None:
            return None
        return first or "", second

    @staticmethod
    def _named(tid: int, at: int | None, path: int, args: tuple[int, ...], skip: int = 0) -> str:
        name = memory.text(tid, args[path] + skip)
        if not name.startswith("/"):
            name = f"{memory.folder(tid, None if at is None else args[at])}/{name}"
        # The last part stays as it is: unlink and rename are about a link itself.
        head, tail = os.path.split(os.path.normpath(name))
        return f"{os.path.realpath(head)}/{tail}"

    def _below(self, path: str) -> str | None:
        return path[len(self._root) :] if path.startswith(self._root) and not path.endswith(" (deleted)") else None

    @staticmethod
    def _facts(call: Call, tid: int, args: tuple[int, ...]) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if call.flags is not None:
            facts["flags"] = _flags(call, tid, args[call.flags])
        if call.name == "creat":
            facts["flags"] = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        if call.data is not None and call.size is not None:
            read = memory.pieces if call.iov else memory.read
            facts["data"] = read(tid, args[call.data], args[call.size])
            assert call.fd is not None
            at = None if call.offset is None else args[call.offset]
            # pwritev2 takes -1 for "where the file stands".
            facts["offset"] = memory.position(tid, args[call.fd]) if at in (None, _MINUS_1) else at
        elif call.size is not None:
            facts["size"] = args[call.size]
            facts["offset"] = None if call.offset is None else args[call.offset]
        return facts


def _line(step: Step) -> bytes:
    """The step for the log; a name that is no UTF-8 is written with escapes, and will not be found on the disk."""
    try:
        return msgspec.json.encode(step) + b"\n"
    except UnicodeEncodeError:
        names = [name and os.fsencode(name).decode("utf-8", "backslashreplace") for name in (step.path, step.path2)]
        return msgspec.json.encode(msgspec.structs.replace(step, path=names[0] or "", path2=names[1])) + b"\n"


def _flags(call: Call, tid: int, argument: int) -> int:
    if call.how:  # struct open_how begins with the flags
        argument = int.from_bytes(memory.read(tid, argument, 8), "little")
    return argument & 0xFFFFFFFF
