"""What the site tells the harness unasked: the events of the control channel."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .sockets import Address


class OpenRequest(msgspec.Struct, frozen=True):
    """A request in flight; `held` says whether the site is holding its answer back."""

    seq: int
    conn: int
    path: str
    incarnation: int
    held: bool


class FirstRequest(msgspec.Struct, frozen=True, tag_field="event", tag="first_request"):
    """The first request of an incarnation has arrived, for a page or for anything else."""

    incarnation: int
    t_s: float


class Due(msgspec.Struct, frozen=True, tag_field="event", tag="due"):
    """The armed trigger's moment has come, and the site is frozen."""

    t_s: float
    seq: int
    conn: int
    client: Address
    site: Address
    path: str
    incarnation: int
    n: int | None
    open: list[OpenRequest]


class Gone(msgspec.Struct, frozen=True, tag_field="event", tag="gone"):
    """The client of a held request hung up."""

    seq: int
    t_s: float


class HoldExpired(msgspec.Struct, frozen=True, tag_field="event", tag="hold_expired"):
    """Nobody released the site for too long, so it released itself."""

    t_s: float


class Misbehaved(msgspec.Struct, frozen=True, tag_field="event", tag="misbehaved"):
    """The first request has met the misbehaviour that was planned as `name`."""

    t_s: float
    seq: int
    path: str
    incarnation: int
    name: str


Event = FirstRequest | Due | Gone | HoldExpired | Misbehaved
Emit = Callable[[Event], None]
