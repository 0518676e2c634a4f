"""What the harness may ask of the site, one structure for each command; JSON that fits none is refused."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from .elders import Elder
from .misbehaviour import MisbehaviourKind
from .trigger import TriggerKind

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Delay = Annotated[float, Meta(ge=0, le=3600)]


class _Command(msgspec.Struct, frozen=True, tag_field="do", tag=str.lower, forbid_unknown_fields=True):
    id: int


class Incarnation(_Command, frozen=True):
    """A new lifetime of the crawler begins, beside those of its `peers` that run on."""

    number: Natural
    peers: tuple[Natural, ...] = ()


class Arm(_Command, frozen=True):
    """Freeze at a request or a response, or inside one."""

    kind: TriggerKind
    n: Positive
    path: str | None = None
    at_bytes: Natural | None = None


class Next(_Command, frozen=True):
    """Release, and freeze again at the next page request."""


class Elders(_Command, frozen=True):
    """Name the processes of older incarnations that live on."""

    processes: tuple[Elder, ...]


class Disarm(_Command, frozen=True):
    """Forget the trigger."""


class Freeze(_Command, frozen=True):
    """A fault is due."""


class Release(_Command, frozen=True):
    """The fault has struck, which was the `due`-th that came due; null: open, whatever has come due."""

    due: Natural | None = None


class Open(_Command, frozen=True):
    """Ask which requests are in flight."""


class Fence(_Command, frozen=True):
    """Wait until earlier connections are accepted and dead ones closed."""

    deadline_s: Annotated[float, Meta(ge=0, le=3600)]


class Stats(_Command, frozen=True):
    """Ask how many requests there were."""


class Bump(_Command, frozen=True):
    """Change a page."""

    path: str


class Truth(_Command, frozen=True):
    """Ask what a perfect crawl must store; with `effects` also what pages and pictures it was served."""

    effects: bool = False


class ForgetKeys(_Command, frozen=True, tag="forget_keys"):
    """Another trial begins: no idempotency key has been seen."""


class Sync(_Command, frozen=True):
    """Write the log out."""


class Misbehave(_Command, frozen=True):
    """Answer the pages of a path or pattern wrongly, each `times` times (null: always), under a name for the log."""

    path: str
    kind: MisbehaviourKind
    name: str | None = None
    times: Natural | None = 1
    at_bytes: Natural | None = None
    delay_s: tuple[Delay, Delay] | None = None
    status: Annotated[int, Meta(ge=400, le=599)] | None = None
    retry_after_s: Natural | None = None
    bytes_per_s: Positive | None = None
    to: Annotated[str, Meta(pattern=r"^/[!-~]*$")] | None = None


Command = (
    Incarnation
    | Arm
    | Next
    | Elders
    | Disarm
    | Freeze
    | Release
    | Open
    | Fence
    | Stats
    | Bump
    | Truth
    | ForgetKeys
    | Sync
    | Misbehave
)


def parse(line: bytes) -> Command:
    """The command in a line of JSON; ValueError says what is wrong with it."""
    return _decode(line)


def id_of(line: bytes) -> int | None:
    """The id of a line that is not a proper command, if it has one, so that the reply can be matched."""
    try:
        found = msgspec.json.decode(line)
    except ValueError:
        return None
    number = found.get("id") if isinstance(found, dict) else None
    return number if isinstance(number, int) else None


_decode = msgspec.json.Decoder(Command).decode
