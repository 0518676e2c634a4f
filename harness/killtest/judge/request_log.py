"""The site's log of requests, as the judge reads it (docs/site-protocol.md)."""

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, compress, pairwise
from pathlib import Path

import msgspec

from killtest.pieces import Pieces


class Delivery(msgspec.Struct, frozen=True):
    """What arrived at the webhook: the digest of its bytes, its Idempotency-Key, and its text where it is JSON."""

    sha256: str
    idempotency_key: str | None = None
    body: str | None = None


class Request(msgspec.Struct, frozen=True):
    """One line of the log: seconds of CLOCK_MONOTONIC, `key` and `version` of the product on the page.

    `misbehaviour` is what the site did wrong on purpose, as the schedule has it (`reset:/product/6=start`).
    """

    seq: int
    incarnation: int
    conn: int
    method: str
    path: str
    kind: str
    arrived_s: float
    outcome: str
    late: bool
    ended_s: float | None = None
    sent_s: float | None = None
    key: str | None = None
    version: int | None = None
    status: int | None = None
    misbehaviour: tuple[str, ...] = ()
    hook: Delivery | None = None

    @property
    def is_page(self) -> bool:
        """True for a request for a page of the shop; images, robots.txt, HEAD and redirects are none."""
        return self.kind == "page"

    @property
    def is_answered(self) -> bool:
        """True when the page went out in full; error pages and redirects are no answer to a request for one."""
        return self.outcome == "sent" and (self.status is None or 200 <= self.status < 300)

    @property
    def was_refused(self) -> bool:
        """True when the site answered with an error or a redirect, or went wrong on purpose: a retry may follow."""
        is_error = self.outcome == "sent" and not self.is_answered
        return is_error or any(name.startswith(("reset:", "truncate:")) for name in self.misbehaviour)


class Proper:
    """The requests of the first `incarnations` incarnations: those of the trial without its `again` starts."""

    def __init__(self, requests: Iterable[Request], incarnations: int) -> None:
        """Go through `requests` each time anew."""
        self._requests = requests
        self._incarnations = incarnations

    def __iter__(self) -> Iterator[Request]:
        return (request for request in self._requests if request.incarnation < self._incarnations)


class _Numbered(msgspec.Struct, frozen=True):
    seq: int


def read(log: Path) -> Pieces[Request]:
    """The log in order of arrival; of two lines for a request (open, then over) the later one.

    OSError or msgspec.DecodeError when there is none, or it is damaged.
    """
    number_of, at = msgspec.json.Decoder(_Numbered).decode, 0
    numbers, lines = array("q"), Pieces(log, msgspec.json.Decoder(Request).decode)
    with log.open("rb") as file:
        for line in file:
            numbers.append(number_of(line).seq)
            lines.add(at, len(line))
            at += len(line)
    # Lines are written as requests end; the sort is stable, so that the later line of a request comes behind.
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    is_last = (numbers[place] != numbers[after] for place, after in pairwise(order))
    return lines.chosen(compress(order, chain(is_last, [True])))


def first_missing(requests: Iterable[Request], count: int | None) -> int | None:
    """The number of the first request without a line, as `read` gives them; None when none is missing.

    `count` is how many there were at least: what came behind them may have been cut off with the site. Without it
    they go up to the last line.
    """
    last = 0
    for request in requests:
        if request.seq != last + 1 and (count is None or last < count):
            return last + 1
        last = request.seq
    return last + 1 if count is not None and last < count else None
