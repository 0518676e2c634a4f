"""Pictures as files, each named by what is in it.

A picture is an entry of the frontier like a page: with a lease, retries and a "done" of its own. A product is stored
whether its picture can be had or not, and a restart fetches the pictures that are missing and no others.

The name is the content's hash. So the same picture, fetched twice or shown by two products, is one file; a worker that
is late can't put an old picture in a new one's place; and a file can be checked against its name. What a product
showed before it was changed stays: `pictures` says which file is the present one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import requests
from durable import make_folder, naming, replace
from frontier import Lease, enqueue
from shop import PageError, get, is_picture

SCHEMA = """CREATE TABLE IF NOT EXISTS pictures (
    url       TEXT PRIMARY KEY,
    file      TEXT NOT NULL,  -- below the folder of pictures
    stored_at REAL NOT NULL)"""
STORE_SQL = "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)"
ENDINGS = {
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
}


@dataclass(frozen=True)
class Pictures:
    """The pictures in a folder; any number of workers may share it."""

    folder: Path

    def prepare(self, db: sqlite3.Connection) -> None:
        """Make folder and table where there are none."""
        make_folder(self.folder)
        db.execute(SCHEMA)

    def owns(self, url: str) -> bool:
        """Whether an entry of the frontier is a picture."""
        return is_picture(url)

    def put(self, db: sqlite3.Connection, product: dict[str, str], now_s: float) -> None:
        """Note that the product's picture is wanted, in the transaction that wrote its record."""
        if "image_url" in product:
            enqueue(db, [product["image_url"]], now_s)

    def fetch(self, session: requests.Session, lease: Lease, now_s: float) -> Callable[[sqlite3.Connection], object]:
        """Get a picture and put it into its file; returns what is to be stored with its "done".

        The file is durable by then, so "done" is never true of a picture that a kill or a power cut took. PageError
        when it can't be had whole or is none, FileError when it can't be written.
        """
        response = get(session, lease.url, now_s)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in ENDINGS or not response.content:
            raise PageError(f"no picture: {len(response.content)} bytes of {kind or 'unknown type'}")
        name = hashlib.sha256(response.content).hexdigest() + ENDINGS[kind]
        self._save(name, response.content, lease)
        return lambda db: db.execute(STORE_SQL, (lease.url, name, now_s))

    def _save(self, name: str, content: bytes, lease: Lease) -> None:
        """Write the file. What dead or late holders of earlier leases left is removed: its names are known."""
        for number in range(1, lease.number):
            with naming(self._temporary(lease.seq, number)):
                self._temporary(lease.seq, number).unlink(missing_ok=True)
        try:
            replace(self.folder / name, self._temporary(lease.seq, lease.number), content)
        except FileNotFoundError as error:  # the lease ran out, and its next holder removed our file
            raise PageError("another worker has taken it over") from error

    def _temporary(self, seq: int, number: int) -> Path:
        return self.folder / f".{seq}-{number}.part"
