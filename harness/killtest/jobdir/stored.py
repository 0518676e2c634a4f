"""What the files of one queue hold, and what opening it would do: the same for all kinds of queue."""

from typing import Literal

import msgspec

Kind = Literal["fifo", "lifo", "sqlite"]
Then = Literal["empty", "stuck", "raises"]
# A take of a record without content raises, and Scrapy looks again after 5 s: so many in a row, as in a file that is
# full of zeros, are taken for ever.
MOST_EMPTY = 1000


class Finding(msgspec.Struct, frozen=True):
    """Something on disk that a clean stop does not leave. `path` is relative to the JOBDIR."""

    name: str
    words: str
    path: str = ""


class Stored(msgspec.Struct, frozen=True):
    """A queue as it lies on disk. Records are bytes, the oldest first.

    `records` are the whole ones, `pending` those behind the position that the queue itself remembers. `believed` is the
    length that it will think it has, None where opening it raises `opening`. `pops` are the records that it gives, one
    after another, when it is opened as it is and nothing is added; `then` is what comes behind them: it counts itself
    empty and is deleted, it gives nothing and still counts requests (stuck), or every further try raises. `skips`
    is how many bytes of what is queued next it never reads.
    """

    kind: Kind
    records: tuple[bytes, ...] = ()
    pending: tuple[bytes, ...] = ()
    believed: int | None = 0
    pops: tuple[bytes, ...] = ()
    then: Then = "empty"
    opening: str = ""
    skips: int = 0
    findings: tuple[Finding, ...] = ()
