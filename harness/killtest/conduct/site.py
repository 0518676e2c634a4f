"""The harness's handle on the running shop (docs/site-protocol.md)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any, Protocol

import msgspec

from killtest.errors import Refused, UsageError
from killtest.judge.truth import Truth
from killtest.plan.fault import Trigger
from killtest.plan.manifest import SiteNeeds
from killtest.plan.misdeed import Misdeed
from killtest.process.channel import Channel, Message
from killtest.process.launcher import Face

_FENCE_DEADLINE_S = 1.0


class OpenRequest(msgspec.Struct, frozen=True):
    """A request in flight at the site."""

    seq: int
    path: str
    incarnation: int
    held: bool


class Site(Protocol):
    """What a trial needs of the shop; the tests put a simulation in its place."""

    def begin(self, incarnation: int, peers: Sequence[int] = ()) -> None:
        """What connects from here on belongs to `incarnation`; its requests are counted from 1.

        The incarnations `peers` run on beside it, and are counted with it.
        """

    def arm(self, trigger: Trigger) -> bool:
        """Freeze, and say `due`, when the request or response of `trigger` comes; true when it is held already."""

    def next(self) -> None:
        """Let held answers go out; freeze, and say `due`, at the next page request of this incarnation."""

    def elders(self, faces: Sequence[Face]) -> None:
        """These processes of older incarnations live, peers among them: connections that they open are theirs."""

    def bump(self, path: str) -> int:
        """Serve the next version of the product at `path` from now on; the version."""

    def misbehave(self, misdeed: Misdeed) -> None:
        """Go wrong like that from now on, and say `misbehaved` when the first request meets it."""

    def behave(self, path: str) -> None:
        """What goes wrong at that path or pattern does no longer."""

    def disarm(self) -> None:
        """Forget the armed trigger."""

    def freeze(self) -> tuple[OpenRequest, ...]:
        """A fault is due: no byte leaves until `release`; what is in flight."""

    def release(self) -> None:
        """Let held answers go out, unless a trigger has come due of which nobody has heard yet."""

    def open(self) -> tuple[OpenRequest, ...]:
        """The requests in flight."""

    def fence(self) -> bool:
        """Wait until what connected before has been accepted and dead clients' connections are closed here too."""

    def requests(self) -> tuple[int, int]:
        """Page requests and other requests so far in this trial."""


class SiteHandle:
    """A real site, over its control socket."""

    def __init__(self, control: Path) -> None:
        """Connect to the control socket at `control`."""
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.connect(str(control))
        self.channel = Channel(connection, "site")
        # How many triggers that came due were heard: what has come due since keeps the site frozen.
        self._heard = 0

    def next_event(self) -> Message:
        """The oldest of its events that nobody has heard yet; IndexError without one."""
        event = self.channel.events.popleft()
        self._heard += event["event"] == "due"
        return event

    def begin(self, incarnation: int, peers: Sequence[int] = ()) -> None:
        """Start a new incarnation's counting."""
        self.channel.call("incarnation", number=incarnation, peers=list(peers))

    def arm(self, trigger: Trigger) -> bool:
        """Arm the site for a trigger that it sees."""
        named: Message = {} if trigger.path is None else {"path": trigger.path}
        named |= {} if trigger.at_bytes is None else {"at_bytes": trigger.at_bytes}
        return bool(self.channel.call("arm", kind=trigger.kind, n=trigger.n, **named)["due"])

    def next(self) -> None:
        """Release, and strike at the next page request."""
        self.channel.call("next")

    def elders(self, faces: Sequence[Face]) -> None:
        """Name the living processes of older incarnations."""
        named = [{"pid": one.pid, "started": one.started, "incarnation": one.incarnation} for one in faces]
        self.channel.call("elders", processes=named)

    def bump(self, path: str) -> int:
        """Change a page; UsageError for a path that shows no product."""
        try:
            return int(self.channel.call("bump", path=path)["version"])
        except Refused as error:
            raise UsageError(f"bump:{path}: {error}") from None

    def misbehave(self, misdeed: Misdeed) -> None:
        """Have the site go wrong."""
        self.channel.call("misbehave", **misdeed.order)

    def behave(self, path: str) -> None:
        """Take back what goes wrong at a path or pattern; the kind says nothing then."""
        self.channel.call("misbehave", path=path, kind="reset", times=0)

    def disarm(self) -> None:
        """Forget the armed trigger."""
        self.channel.call("disarm")

    def freeze(self) -> tuple[OpenRequest, ...]:
        """Hold every answer; what is in flight."""
        return open_requests(self.channel.call("freeze")["open"])

    def release(self) -> None:
        """Let held answers go out."""
        self.channel.call("release", due=self._heard)

    def open(self) -> tuple[OpenRequest, ...]:
        """The requests in flight."""
        return open_requests(self.channel.call("open")["open"])

    def fence(self) -> bool:
        """True when every earlier connection has been accepted and those of dead clients are closed."""
        reply = self.channel.call("fence", within_s=_FENCE_DEADLINE_S + 10, deadline_s=_FENCE_DEADLINE_S)
        return bool(reply["passed"])

    def requests(self) -> tuple[int, int]:
        """Page requests and other requests so far in this trial."""
        reply = self.channel.call("stats")
        return int(reply["requests"]), int(reply["other"])

    def truth(self, effects: bool = False) -> Truth:
        """What a perfect crawl must store, all versions served so far; with `effects` their pages and pictures too."""
        return msgspec.convert(self.channel.call("truth", within_s=60, effects=effects), Truth)

    def forget_keys(self) -> None:
        """Another trial begins on this site: no idempotency key has been seen."""
        self.channel.call("forget_keys")

    def sync(self) -> None:
        """Have the request log written out."""
        self.channel.call("sync")

    def close(self) -> None:
        """Hang up; the site lives on until its warden ends it."""
        self.channel.close()


def open_requests(raw: Any) -> tuple[OpenRequest, ...]:
    """The `open` list of a reply or event as data."""
    return msgspec.convert(raw, tuple[OpenRequest, ...])


def arguments(needs: SiteNeeds, hold_s: float, log: Path) -> list[str]:
    """The site's command line for a trial; the warden fills in `{private}`. UsageError for what only Linux has."""
    if needs.addresses > 1 and not sys.platform.startswith("linux"):
        raise UsageError(f"[site] addresses = {needs.addresses}: only Linux answers on all of 127/8; here it is 1")
    return [
        f"--products={needs.products}",
        f"--list-pages={needs.list_pages}",
        f"--seed={needs.seed}",
        f"--latency-ms={needs.latency_ms:g}",
        f"--shape={needs.shape}",
        f"--next={needs.next}",
        f"--addresses={needs.addresses}",
        f"--hold-s={hold_s:g}",
        f"--log={log}",
        "--control={private}/site.sock",
    ]
