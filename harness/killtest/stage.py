"""The real stage of a trial: a warden, a site, a store folder and the clock."""

import os
import selectors
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from killtest import site, snapshot, subject
from killtest.channel import Channel
from killtest.errors import HarnessFailure
from killtest.launcher import Order, WardenLauncher
from killtest.manifest import SiteNeeds, Subject
from killtest.snapshot import Snapshot

Event = dict[str, Any]
# Handed down as they are; everything else of the caller's environment stays outside. PYTHONUNBUFFERED is
# left out on purpose: it hides output that a kill would lose.
_HANDED_DOWN = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SETUP_DEADLINE_S = 300.0


class RealStage:
    """One trial's world, in the folder `folder`; `close` ends every process of it."""

    def __init__(self, who: Subject, needs: SiteNeeds, folder: Path, inherit: tuple[int, ...] = ()) -> None:
        """Start warden and site, and run the subject's setup commands."""
        self.subject = who
        self.folder = folder = folder.resolve()
        self.store = folder / "store"
        self._scratch = folder / "tmp"
        self.store.mkdir(parents=True)
        self._scratch.mkdir()
        with ExitStack() as opened:
            self.launcher = WardenLauncher(inherit)
            opened.callback(self.launcher.close)
            self._open_site(needs, opened)
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

    def _set_up(self) -> None:
        for command in self.subject.setup:
            order = msgspec.structs.replace(self.order(0), argv=self._argv(command, 0))
            self.launcher.start(order)
            event = self.next_event(self.now() + _SETUP_DEADLINE_S)
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
            for channel in channels:
                if channel.events:
                    return channel.events.popleft()
            left_s = until_s - self.now()
            if left_s <= 0:
                return None
            for key, _ in self._selector.select(left_s):
                channel = key.fileobj  # type: ignore[assignment]  # only channels are registered
                channel.pump()
                if channel.is_closed and not channel.events:
                    raise HarnessFailure(f"the {channel.peer} ended in the middle of a trial; see {self.folder}")

    def order(self, incarnation: int) -> Order:
        """How to start that incarnation: the restart command from the second on, where there is one."""
        who = self.subject
        command = who.restart if who.restart and incarnation else who.command
        return Order(
            incarnation=incarnation,
            argv=self._argv(command, incarnation),
            env=self.environment(incarnation),
            cwd=str(self.store),
            stdout=str(self.folder / f"incarnation-{incarnation}.stdout"),
            stderr=str(self.folder / f"incarnation-{incarnation}.stderr"),
        )

    def environment(self, incarnation: int) -> dict[str, str]:
        """The clean environment of that incarnation; the manifest's `[env]` has the last word."""
        env = {name: os.environ[name] for name in _HANDED_DOWN if name in os.environ}
        env |= {
            "LANG": "C.UTF-8",
            "TMPDIR": str(self._scratch),
            "KILLTEST_SITE_URL": self.url,
            "KILLTEST_STORE": str(self.store),
            "KILLTEST_INCARNATION": str(incarnation),
        }
        values = self._values(incarnation)
        for name, value in self.subject.env.items():
            env[name] = value.replace("{store}", values["store"]).replace("{site_url}", values["site_url"])
        return env

    def snapshot(self, incarnation: int) -> Snapshot:
        """What the store holds now."""
        return snapshot.take(self.subject.store, self.store, self.folder / "copy", incarnation)

    def close(self) -> None:
        """End every process of the trial."""
        self._opened.close()

    def _argv(self, command: tuple[str, ...], incarnation: int) -> tuple[str, ...]:
        return tuple(subject.command_line(command, self.subject.folder, self._values(incarnation)))

    def _values(self, incarnation: int) -> dict[str, str]:
        return {"site_url": self.url, "store": str(self.store), "incarnation": str(incarnation)}
