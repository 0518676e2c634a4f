"""How a JOBDIR loses requests: each mechanism with a schedule that shows it, and why, in words.

`bench/jobdir_mechanisms.py` runs and shrinks them; scrapy/scrapy#7978 is Scrapy's open request for crawls that
survive a crash, whose points are named here in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mechanism:
    """One way to lose requests, or to stop for good.

    `faults` is the schedule with which it was found, which may be longer than it has to be; `points` are names in
    words.toml, as is its own name.
    With `same_keys` a shorter schedule has to lose the same products, where another mechanism loses others.
    """

    name: str
    variant: str
    faults: tuple[str, ...]
    points: tuple[str, ...]
    site: dict[str, str] = field(default_factory=dict)
    same_keys: bool = False

    @property
    def is_shortest(self) -> bool:
        """Whether there is nothing to shrink: one fault before one durable step, as `killtest explore` names it."""
        return len(self.faults) == 1 and self.faults[0].startswith("syscall:")


_SMALL = {"list_pages": "3", "products": "30"}

MECHANISMS = (
    Mechanism(
        "forgotten-queue",
        "chain",
        ("request:60 KILL", "request:240 KILL"),
        ("index", "filter"),
    ),
    Mechanism(
        "in-flight",
        "sqlite_one",
        ("request:10 INT", "request:8 KILL", "request:9 KILL"),
        ("requests",),
        _SMALL,
    ),
    Mechanism(
        "stale-count",
        "one_request",
        ("request:4 INT", "request:2 KILL"),
        ("queues", "requests"),
        _SMALL,
    ),
    Mechanism(
        "header-in-buffer",
        "products_few",
        ("request:3 KILL", "request:5 KILL"),
        ("queues",),
    ),
    Mechanism(
        "emptied-queue",
        "fifo_one",
        ("request:10 INT", "request:30 KILL"),
        ("queues", "index"),
    ),
    Mechanism(
        "half-pushed",
        "fifo_one",
        ("syscall:write#6 KILL",),
        ("queues",),
        _SMALL,
    ),
    Mechanism(
        "half-removed",
        "one_request",
        ("syscall:unlink#3 KILL",),
        ("queues",),
        _SMALL,
    ),
    Mechanism(
        "torn-index",
        "one_request",
        ("syscall:write#6 KILL",),
        ("index",),
        _SMALL,
    ),
    Mechanism(
        "feed-buffer",
        "jsonl_one",
        ("request:30 INT", "request:20 KILL"),
        ("items",),
        same_keys=True,
    ),
    Mechanism(
        "unpicklable",
        "article_lock",
        ("request:5 INT", "request:17 INT"),
        ("none",),
    ),
)
