"""A simulated world for the conductor: scripted subjects, a site that counts and holds, and a clock that jumps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from killtest.conduct.site import OpenRequest
from killtest.plan.fault import Scope, Trigger
from killtest.process.launcher import Census, Face, Order, Strike
from killtest.process.socket_owner import Ends
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot


@dataclass
class Script:
    """One incarnation: page requests `every_s` seconds, the first after `start_s`, then exit with `code`.

    `on_polite` is how long it takes to end after SIGINT or SIGTERM (None: it never does); `hangs` is true when it
    neither requests nor exits once its pages are done. It announces the mark `stored` after every page. A KILL of
    another process than the main one leaves it going on (`worker_code` None) or ends it with that code.
    """

    pages: int = 10
    start_s: float = 0.1
    every_s: float = 0.01
    code: int = 0
    on_polite: float | None = 0.0
    polite_code: int = -2
    hangs: bool = False
    orphans: tuple[str, ...] = ()
    worker_code: int | None = None
    said: str = ""


@dataclass
class World:
    """Launcher, site and stage in one; time moves only in `next_event`."""

    scripts: Sequence[Script]
    clock_s: float = 100.0
    signals: list[tuple[int, str, str]] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    snapshots: Callable[[int], Snapshot] = Snapshot
    _queue: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    _unheard: list[dict[str, Any]] = field(default_factory=list)
    _armed: Trigger | None = None
    _counts: dict[str | None, int] = field(default_factory=dict)
    _incarnation: int = -1
    _total: int = 0
    _left: tuple[str, ...] = ()
    _paused: list[tuple[float, dict[str, Any]]] | None = None
    _paused_s: float = 0.0
    _mark: tuple[str, int] | None = None
    _marks: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    elders_named: list[int] = field(default_factory=list)
    ends: list[Ends | None] = field(default_factory=list)
    frozen: bool = False
    ignores: bool = False
    slow_page: bool = False
    calls: list[str] = field(default_factory=list)
    late_site: bool = False  # what the site says of incarnation 0 is heard after its exit

    @property
    def launcher(self) -> "World":
        return self

    @property
    def site(self) -> "World":
        return self

    @property
    def _is_late(self) -> bool:
        return self.late_site and self._incarnation == 0

    def printed_bytes(self, incarnation: int) -> tuple[int, ...]:
        return (0, 0)

    def said(self, incarnation: int, since_bytes: tuple[int, ...]) -> str:
        return f"{self._script.said}\n"

    def move_clock(self, seconds: float) -> None:
        self.calls.append(f"clock {seconds:+g}")

    def fail_steps(self, kind: str, times: int | None) -> None:
        self.calls.append(f"fail {kind} {times}")
        failed = {
            "event": "call_failed",
            "incarnation": self._incarnation,
            "call": "write",
            "path": "a",
            "k": 3,
            "n": 2,
        }
        self._queue.append((self.clock_s, failed))

    def failed_steps(self) -> tuple[int, tuple[str, ...]]:
        return 4, ("write", "fsync")

    def limit_memory(self, size_bytes: int) -> str:
        self.calls.append(f"limit {size_bytes}")
        return "cgroup v2"

    def now(self) -> float:
        return self.clock_s

    def order(self, incarnation: int, instance: int = 0) -> Order:
        return Order(incarnation, ("subject",), {}, "/", "/dev/null", "/dev/null")

    def snapshot(self, incarnation: int) -> Snapshot:
        self.calls.append("snapshot")
        return self.snapshots(incarnation)

    def next_event(self, until_s: float) -> dict[str, Any] | None:
        if self._unheard and not self._queue:
            return self._unheard.pop(0)
        self._queue.sort(key=lambda one: one[0])
        while self._queue and self._queue[0][0] <= until_s:
            at_s, event = self._queue.pop(0)
            self.clock_s = max(self.clock_s, at_s)
            shown = self._happen(event)
            if shown is not None and self._is_late and shown["event"] != "exit":
                self._unheard.append(shown)
            elif shown is not None:
                return shown
        self.clock_s = max(self.clock_s, until_s)
        return None

    def _happen(self, event: dict[str, Any]) -> dict[str, Any] | None:
        if event["event"] == "said":
            self._marks += 1
            if self._mark != (event["name"], self._marks):
                return None
            self._mark = None
            self.calls.append("waits at mark")
            return event | {"event": "mark", "incarnation": self._incarnation, "n": self._marks, "t_s": self.clock_s}
        if event["event"] != "request":
            return event | {"t_s": self.clock_s}
        self._total += 1
        for key in (None, event["path"]):
            self._counts[key] = self._counts.get(key, 0) + 1
        armed = self._armed
        if armed and (armed.path in (None, event["path"])) and self._counts[armed.path] == armed.n:
            self._armed, self.frozen = None, True
            held = {"seq": self._total, "path": event["path"], "incarnation": self._incarnation, "held": True}
            due = {
                "event": "due",
                "n": armed.n,
                "path": event["path"],
                "open": [held],
                "client": ("127.0.0.1", 4000 + self._total),
                "site": ("127.0.0.1", 8000),
                "incarnation": self._incarnation,
            }
            return self._after_first(due | {"t_s": self.clock_s})
        return self._after_first(None)

    def _after_first(self, shown: dict[str, Any] | None) -> dict[str, Any] | None:
        if self._counts[None] != 1:
            return shown
        if shown is not None:
            self._queue.insert(0, (self.clock_s, shown))
        return {"event": "first_request", "incarnation": self._incarnation, "t_s": self.clock_s}

    # Launcher

    def start(self, order: Order) -> float:
        script = self.scripts[min(order.incarnation, len(self.scripts) - 1)]
        self.started.append(order.incarnation)
        at_s = self.clock_s + script.start_s
        for page in range(script.pages):
            self._queue.append((at_s, {"event": "request", "path": f"/product/{page + 1}"}))
            self._queue.append((at_s + script.every_s / 2, {"event": "said", "name": "stored"}))
            at_s += script.every_s
        if not script.hangs:
            self._exit(at_s, script.code)
        self._script = script
        self._left = script.orphans
        return self.clock_s

    def _exit(self, at_s: float, code: int) -> None:
        self._queue.append((at_s, {"event": "exit", "incarnation": self._incarnation, "code": code}))

    def strike(
        self, signal: str, scope: Scope, wait_s: float, ends: Ends | None = None, incarnation: int | None = None
    ) -> Strike:
        if signal == "CONT" and self._paused is None:
            return Strike((), self.clock_s)
        self.signals.append((self._incarnation, signal, scope))
        self.ends.append(ends)
        if signal == "CONT" and self._paused is not None:
            later_s = self.clock_s - self._paused_s
            self._queue += [(at_s + later_s, event) for at_s, event in self._paused]
            self._paused = None
        elif signal == "STOP":
            self._paused, self._paused_s = self._queue, self.clock_s
            self._queue = []
        elif scope == "owner":
            if self._script.worker_code is not None:
                self._queue.clear()
                self._exit(self.clock_s, self._script.worker_code)
            return Strike((8,), self.clock_s, self.clock_s)
        elif signal == "KILL":
            self._queue.clear()
            self._exit(self.clock_s, -9)
        elif self._script.on_polite is not None:
            self._queue.clear()
            self._exit(self.clock_s + self._script.on_polite, self._script.polite_code)
        return Strike((7,), self.clock_s, main=True, ignored=self.ignores and signal != "KILL")

    def kill_service(self, name: str) -> Strike:
        self.calls.append(f"kill {name}")
        return Strike((5,), self.clock_s)

    def start_service(self, name: str) -> Strike:
        assert self.frozen, "what a step does is seen before the next fault is armed"
        self.calls.append(f"start {name}")
        return Strike((6,), self.clock_s)

    def arm_mark(self, incarnation: int, name: str, n: int) -> None:
        self._mark = (name, n)

    def release_mark(self) -> None:
        self.calls.append("release_mark")

    def waits(self) -> tuple[str, ...]:
        return ("7 subject: waiting for a lock (futex)",)

    def rows(self) -> int:
        assert self.frozen, "the store is looked at only while a request is held"
        return self._total

    def usage(self) -> tuple[float, int]:
        return 0.0, 1

    def mains(self) -> tuple[Face, ...]:
        return ()

    def census(self, settle_s: float = 0.0) -> Census:
        self.calls.append("census")
        return Census(tuple(Face(9, name) for name in self._left))

    def hold_still(self) -> None:
        self.calls.append("hold_still")

    def go_on(self) -> None:
        self.calls.append("go_on")

    def end_subject(self) -> None:
        self._queue.clear()
        self._exit(self.clock_s, -9)

    # Site

    def begin(self, incarnation: int, peers: Sequence[int] = ()) -> None:
        assert not self.frozen, f"the site is still frozen when incarnation {incarnation} begins"
        self._incarnation, self._armed = incarnation, None
        self._counts, self._queue = {}, [one for one in self._queue if one[1]["event"] == "due"]

    def arm(self, trigger: Trigger) -> None:
        self._armed = trigger

    def disarm(self) -> None:
        self._armed = None

    def disarm_mark(self) -> None:
        self._mark = None

    def forget(self) -> None:
        self._mark, self._marks = None, 0

    def arm_step(self, name: str, n: int) -> None:
        self._step = (name, n)

    def release_step(self) -> None:
        self.calls.append("release_step")

    def next(self) -> None:
        self._armed = Trigger("request", n=self._counts.get(None, 0) + 1)
        self.frozen = False

    def elders(self, faces: Sequence[Face]) -> None:
        self.elders_named.append(len(faces))

    def bump(self, path: str) -> int:
        assert self.frozen, "a page changes while the site is frozen"
        self.versions[path] = self.versions.get(path, 0) + 1
        return self.versions[path]

    def freeze(self) -> tuple[OpenRequest, ...]:
        self.frozen = True
        return ()

    def release(self) -> None:
        self.frozen = False

    def open(self) -> tuple[OpenRequest, ...]:
        return (OpenRequest(1, "/slow", self._incarnation, False),) if self.slow_page else ()

    def fence(self) -> bool:
        self.calls.append("fence")
        return True

    def requests(self) -> tuple[int, int]:
        return self._total, 0


def rows_snapshot(number: int, *keys: str) -> Snapshot:
    """A snapshot with one row per key."""
    return Snapshot(number, tuple(Row(key, {"sku": key}, f"row {i}") for i, key in enumerate(keys, 1)))
