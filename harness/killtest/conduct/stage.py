"""The real stage of a trial: a warden, a site, a store folder and the clock."""

import os
import selectors
import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from killtest.conduct import site
from killtest.errors import HarnessFailure, Refused, UsageError
from killtest.halt import Halt
from killtest.jobdir import border
from killtest.judge import grouping
from killtest.judge.course import Course
from killtest.judge.truth import Truth
from killtest.plan import subject
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.process import clock, mark_post, outputs, postgres_server
from killtest.process.channel import Channel
from killtest.process.launcher import Order, Trace, WardenLauncher
from killtest.process.server_kind import kind_of
from killtest.reload import code_copy
from killtest.reload.code_copy import Edited
from killtest.store import snapshot
from killtest.store.snapshot import Snapshot

Event = dict[str, Any]
# Handed down as they are; everything else of the caller's environment stays outside. PYTHONUNBUFFERED is
# left out on purpose: it hides output that a kill would lose.
_HANDED_DOWN = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SETUP_DEADLINE_S = 300.0


class RealStage:
    """One trial's world, in the folder `folder`; `close` ends every process of it."""

    def __init__(
        self,
        who: Subject,
        needs: SiteNeeds,
        folder: Path,
        inherit: tuple[int, ...] = (),
        halt: Halt | None = None,
        at: Path | None = None,
    ) -> None:
        """Start warden and site, and run the subject's setup commands; `halt` ends all of it from another thread.

        `at` is where the subject finds its store: an existing folder, over which the trial's own is mounted in the
        trial's namespace. Without namespaces the store stays where it is.
        """
        self.subject = who
        self.folder = folder = folder.resolve()
        self.store = folder / "store"
        self.store.mkdir(parents=True)
        # Whether durable steps are watched, for a fault that waits for one, and whether they are written down.
        self.is_traced = self.is_recorded = False
        # Whether the syncs of watched incarnations cost nothing: no disk has to keep what explore tries.
        self.skips_syncs = False
        # The subject counts its incarnations from `first` on; each starts `clock_s` later by its clock.
        self.first, self.clock_s = 0, 0.0
        self._moved_s = 0.0  # by faults
        with ExitStack() as opened:
            self.launcher = WardenLauncher(inherit)
            opened.callback(self.launcher.close)
            if halt is not None:
                # The warden ends everything below it, the site among them, when its socket closes.
                opened.enter_context(halt.ends(self.launcher.channel.hang_up))
            # Below the warden's folder, whose path is short: programs put UNIX sockets there.
            self._scratch = self.launcher.private / "tmp"
            self._scratch.mkdir()
            self.seen = self.store
            if at is not None and self.launcher.is_isolated:
                self.launcher.bind(self.store, at)
                self.seen = at
            self._open_site(needs, opened)
            self._copy_code()
            self._ports = {name: self._open_service(name) for name in who.services}
            self._set_up()
            self._opened = opened.pop_all()

    def _open_site(self, needs: SiteNeeds, opened: ExitStack) -> None:
        log = self.folder / "site.jsonl"
        words = site.arguments(needs, self.subject.limits.hold_s, log)
        self.url = self.launcher.start_site(words, self.folder / "site.stderr")
        self.site = site.SiteHandle(self.launcher.private / "site.sock")
        opened.callback(self.site.close)
        self._selector = opened.enter_context(selectors.DefaultSelector())
        for channel in (self.launcher.channel, self.site.channel):
            self._selector.register(channel, selectors.EVENT_READ)

    def _copy_code(self) -> None:
        """A private copy for each instance of code that a fault may edit."""
        for instance in range(self.subject.instances if self.subject.reload else 0):
            code_copy.make(Path(self.subject.folder), self._code(instance))

    def _code(self, instance: int) -> Path:
        """Where the files are that the instance runs from."""
        return self.folder / "code" / str(instance) if self.subject.reload else Path(self.subject.folder)

    def edit(self, kind: str, instance: int) -> Edited:
        """Edit the reload files of that instance's copy."""
        return code_copy.apply(kind, self._code(instance), self.subject.reload)

    def _open_service(self, name: str) -> int:
        """Start a service of the trial; its port."""
        place = self.folder / "services" / name
        place.mkdir(parents=True)
        start = kind_of(name).prepare(self.subject.service.get(name, {}), place, self.subject.name)
        try:
            return self.launcher.open_service(name, start, place)
        except Refused as error:
            if name not in self.subject.service:
                raise
            raise UsageError(f"{self.subject.name}: with the settings of [service.{name}]: {error}") from None

    def _set_up(self) -> None:
        for command in self.subject.setup:
            order = msgspec.structs.replace(self.order(0), argv=self._argv(command, 0, 0))
            self.launcher.start(order)
            ends_s = self.now() + _SETUP_DEADLINE_S
            while (event := self.next_event(ends_s)) is not None and event["event"] != "exit":
                pass
            code = event["code"] if event else "no end"
            if code != 0:
                raise HarnessFailure(f"setup {' '.join(command)!r} of {self.subject.name}: {code}; see {order.stderr}")

    def now(self) -> float:
        """CLOCK_MONOTONIC seconds."""
        return time.monotonic()

    def next_event(self, until_s: float) -> Event | None:
        """The next event of warden or site; None once it is `until_s`. HarnessFailure when one of them is gone."""
        channels: tuple[Channel, ...] = (self.launcher.channel, self.site.channel)
        while True:
            if self.launcher.channel.events:
                return _unless_a_service_ended(self.launcher.channel.events.popleft())
            if self.site.channel.events:
                return self.site.next_event()
            # A look at the sockets comes before the deadline: a harness that was stopped for a while must hear
            # what happened meanwhile before it gives anybody up.
            ready = self._selector.select(max(0.0, until_s - self.now()))
            if not ready:
                return None
            for key, _ in ready:
                channel: Channel = key.fileobj  # type: ignore[assignment]  # only channels are registered
                channel.pump()
            gone = [channel.peer for channel in channels if channel.is_closed and not channel.events]
            if gone:
                raise HarnessFailure(f"the {gone[0]} ended in the middle of a trial; see {self.folder}")

    def order(self, incarnation: int, instance: int = 0) -> Order:
        """How to start that incarnation: the restart command from the second on, where there is one.

        `instance` is which of several copies of the subject it is.
        """
        who = self.subject
        self.store.mkdir(exist_ok=True)  # a subject may have removed it
        command = who.restart if who.restart and incarnation else who.command
        return Order(
            incarnation=incarnation,
            argv=self._argv(command, incarnation, instance),
            env=self.environment(incarnation, instance),
            cwd=str(self.seen),
            stdout=str(self.folder / f"incarnation-{incarnation}.stdout"),
            stderr=str(self.folder / f"incarnation-{incarnation}.stderr"),
            trace=self._trace(incarnation),
        )

    def _trace(self, incarnation: int) -> Trace | None:
        if not (self.is_traced or self.is_recorded):
            return None
        log = self.folder / f"steps-{incarnation}.jsonl"
        return Trace(str(self.seen), str(log) if self.is_recorded else None, self.skips_syncs)

    def environment(self, incarnation: int, instance: int = 0) -> dict[str, str]:
        """The clean environment of that incarnation of that copy; the manifest's `[env]` has the last word."""
        env = {name: os.environ[name] for name in _HANDED_DOWN if name in os.environ}
        env |= {
            "LANG": "C.UTF-8",
            "TMPDIR": str(self._scratch),
            "KILLTEST_SITE_URL": self.url,
            "KILLTEST_STORE": str(self.seen),
            "KILLTEST_INCARNATION": str(incarnation - self.first),
            "KILLTEST_INSTANCE": str(instance),
            "KILLTEST_MARK": str(mark_post.path_in(self.launcher.private)),
        }
        if self.is_traced or self.is_recorded:
            env["PYTHONHASHSEED"] = "0"  # so that steps come in the same order in the next crawl
        moved = clock.ahead(self._moved_s + self.clock_s * (incarnation - self.first))
        env |= moved
        if self.subject.reload:
            # Python takes a .pyc for current by its source's second and size: one edit in the second of another, of
            # the same length, such as REVISION = 2 behind REVISION = 1, would never run.
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        env |= {f"KILLTEST_{name.upper()}_URL": url for name, url in self._service_urls().items()}
        values = self._values(incarnation, instance)
        for name, value in self.subject.env.items():
            env[name] = subject.fill(value, values)
        return clock.beside(env, moved)

    def move_clock(self, seconds: float) -> None:
        """Move the subject's wall clock by so much from its next start on."""
        self._moved_s += seconds

    def printed_bytes(self, incarnation: int) -> tuple[int, ...]:
        """How much that incarnation has printed so far, on stdout and on stderr."""
        return tuple(outputs.size_of(file) for file in self._printed(incarnation))

    def said(self, incarnation: int, since_bytes: tuple[int, ...]) -> str:
        """The end of what that incarnation has printed on stdout, then on stderr, behind so many bytes of each."""
        files = zip(self._printed(incarnation), since_bytes, strict=True)
        return "\n".join(outputs.end_of(file, since) for file, since in files)

    def _printed(self, incarnation: int) -> list[Path]:
        return [self.folder / f"incarnation-{incarnation}.{name}" for name in ("stdout", "stderr")]

    def empty_scratch(self) -> None:
        """Forget what the subject left in its TMPDIR, before another trial on this stage."""
        shutil.rmtree(self._scratch)
        self._scratch.mkdir()

    def snapshot(self, incarnation: int) -> Snapshot:
        """What the store holds now, at the border behind that incarnation; of a JOBDIR a line is written down."""
        if self.subject.jobdir is not None:
            border.note(self.folder, self.store, self.subject.jobdir, incarnation)
        return self._taken(incarnation)

    def _taken(self, incarnation: int) -> Snapshot:
        needs, server = self.subject.store, self._store_server()
        return snapshot.take(needs, self.store, self.folder / "copy", incarnation, server, self.subject.effects)

    def _store_server(self) -> str | None:
        """The address of the server that holds the store, for a harness outside the trial's network."""
        if "postgres" not in (self.subject.store.reader, *self.subject.effects.readers):
            return None
        data = self.folder / "services" / "postgres" / "data"
        return postgres_server.own_address(data, self._ports["postgres"], self.launcher.private / "postgres")

    def truth(self, course: Course) -> Truth:
        """What a perfect crawl must store; where the store's rows are of several groups, for each of them."""
        truth, needs = self.site.truth(bool(self.subject.effects.kinds)), self.subject.store
        if needs.group is None:
            return truth
        proper = [one for one, ran in zip(course.snapshots, course.incarnations, strict=True) if not ran.is_again]
        return grouping.grouped(truth, grouping.names_of(proper, needs.group, needs.groups))

    def rows(self) -> int:
        """How many rows the store holds at this moment; the subject is stopped while it is read."""
        self.launcher.hold_still()
        try:
            return len(self._taken(-1).rows)
        finally:
            self.launcher.go_on()

    def close(self) -> None:
        """End every process of the trial."""
        self._opened.close()

    def _argv(self, command: tuple[str, ...], incarnation: int, instance: int) -> tuple[str, ...]:
        values = self._values(incarnation, instance)
        return tuple(subject.command_line(command, str(self._code(instance)), values))

    def _values(self, incarnation: int, instance: int) -> dict[str, str]:
        values = {"site_url": self.url, "store": str(self.seen), "incarnation": str(incarnation - self.first)}
        values |= {f"{name}_url": url for name, url in self._service_urls().items()}
        return values | {"instance": str(instance), "folder": str(self._code(instance))}

    def _service_urls(self) -> dict[str, str]:
        return {name: kind_of(name).url(port) for name, port in self._ports.items()}


def _unless_a_service_ended(event: Event) -> Event:
    """The event; HarnessFailure when it says that a service ended of itself, which no fault had asked for."""
    if event["event"] == "service_exit":
        raise HarnessFailure(
            f"the service {event['name']} ended by itself with {event['code']}: {event['said']} "
            f"(all it said: {event['log']})"
        )
    return event
