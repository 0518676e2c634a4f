"""What the crawl does beyond its records, each in a module of its own; EFFECTS says which, none by default.

Two rules make all of them safe. What may happen twice without harm happens before the page's transaction: a kill in
between repeats it. What may not is only written down in that transaction, as an entry of the frontier, and is done
from there under a name or key made from its content: a kill repeats it too, and the repetition changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import counters

if TYPE_CHECKING:
    import requests
    from captures import Captures
    from frontier import Frontier, Lease
    from outbox import Outbox
    from pictures import Pictures

NAMES = ("images", "webhooks", "counters", "captures")
Found = tuple[Sequence[str], Callable[[sqlite3.Connection], object]]  # links, and what stores the rest


@dataclass(frozen=True)
class Effects:
    """The effects that are wanted; without arguments none. Workers may share it."""

    pictures: Pictures | None = None
    outbox: Outbox | None = None
    captures: Captures | None = None
    has_counters: bool = False

    def prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables, folders and files where there are none; the records are there already."""
        for one in (self.pictures, self.outbox):
            if one:
                one.prepare(db)
        if self.captures:
            self.captures.prepare()
        if self.has_counters:
            counters.prepare(db)

    def fetched(self, url: str, now_s: float, body: str) -> None:
        """A page has come, whatever it says; nothing of it is stored yet."""
        if self.captures:
            self.captures.append(url, body, now_s)

    def stored(self, db: sqlite3.Connection, source: str, product: dict[str, str], now_s: float) -> None:
        """A product's record has been written in the transaction that is open."""
        if self.pictures:
            self.pictures.put(db, product, now_s)
        if self.outbox:
            self.outbox.put(db, source, product["sku"])

    def errand(self, frontier: Frontier, session: requests.Session, lease: Lease) -> Found | None:
        """Do what an entry of the frontier asks for that is no page; None when it is one."""
        if self.outbox and self.outbox.owns(lease.url):
            return (), self.outbox.send(session, lease, frontier.db, frontier.clock())
        if self.pictures and self.pictures.owns(lease.url):
            return (), self.pictures.fetch(session, lease, frontier.clock())
        return None


NONE = Effects()


def choose(names: str, folder: Path, site_url: str) -> Effects:
    """The effects named in `names`, with commas between; files go below `folder`, messages to the site's /hook.

    ValueError for a name that is none.
    """
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := wanted - set(NAMES):
        raise ValueError(f"EFFECTS: no effect {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    if not wanted:
        return NONE
    # Imported only now: they load the HTTP library.
    from captures import Captures
    from outbox import Outbox
    from pictures import Pictures

    return Effects(
        pictures=Pictures(folder / "images") if "images" in wanted else None,
        outbox=Outbox(urljoin(site_url, "/hook")) if "webhooks" in wanted else None,
        captures=Captures(folder / "captures.jsonl") if "captures" in wanted else None,
        has_counters="counters" in wanted,
    )
