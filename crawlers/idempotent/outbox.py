"""Messages to a webhook, one for each record and version of it.

A message is written in the transaction that writes the record, and is sent behind it. Sent before, it might announce
what is never stored; sent behind without having been written down, a kill in between would lose it.

To send it is an entry of the frontier, like a page: with a lease, retries and a "done" of its own, taken up before any
page. A kill between the receiver's "taken" and our "done" sends it again, with the same Idempotency-Key: a receiver
that honours the key does nothing twice. Without one nobody can promise more than "at least once".

Messages may overtake one another, as one that fails is tried again later: `version` tells the order.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import requests
from frontier import Lease, enqueue
from records import record_id
from shop import FIELDS, post

SCHEMA = """CREATE TABLE IF NOT EXISTS outbox (
    url     TEXT PRIMARY KEY,  -- of the frontier's entry: the webhook's, and the key behind a #
    body    TEXT NOT NULL,     -- JSON
    sent_at REAL)"""
RECORD_SQL = "SELECT version, content_hash, data FROM records WHERE id = ?"
PUT_SQL = "INSERT INTO outbox (url, body) VALUES (?, ?) ON CONFLICT (url) DO NOTHING"
BODY_SQL = "SELECT body, sent_at FROM outbox WHERE url = ?"
SENT_SQL = "UPDATE outbox SET sent_at = ? WHERE url = ?"
FIRST = 0.0  # due before every page


@dataclass(frozen=True)
class Outbox:
    """Messages to one webhook."""

    webhook_url: str

    def prepare(self, db: sqlite3.Connection) -> None:
        """Make the table where there is none."""
        db.execute(SCHEMA)

    def owns(self, url: str) -> bool:
        """Whether an entry of the frontier is a message."""
        return url.startswith(f"{self.webhook_url}#")

    def put(self, db: sqlite3.Connection, source: str, natural_key: str) -> None:
        """Note that the record as it is now is to be announced, in the transaction that wrote it.

        Nothing happens when that version has been noted before, or is half a product: its other page completes it.
        """
        row_id = record_id(source, natural_key)
        version, content_hash, data = db.execute(RECORD_SQL, (row_id,)).fetchone()
        fields = json.loads(data)
        if not fields.keys() >= set(FIELDS):
            return
        body = json.dumps({**fields, "id": row_id, "version": version}, ensure_ascii=False, sort_keys=True)
        url = f"{self.webhook_url}#{message_key(row_id, version, content_hash)}"
        db.execute(PUT_SQL, (url, body))
        enqueue(db, [url], FIRST)

    def send(
        self, session: requests.Session, lease: Lease, db: sqlite3.Connection, now_s: float
    ) -> Callable[[sqlite3.Connection], object]:
        """Send a message; returns what is to be stored with its "done". PageError when it is not taken.

        One that was sent before is not sent again, although somebody made all entries of the frontier pending.
        """
        body, sent_at = db.execute(BODY_SQL, (lease.url,)).fetchone()
        if sent_at is None:
            key = lease.url.partition("#")[2]
            # In quotes, as draft-ietf-httpapi-idempotency-key-header has it.
            headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"'}
            post(session, self.webhook_url, now_s, data=body.encode(), headers=headers)
        return lambda db: db.execute(SENT_SQL, (sent_at or now_s, lease.url))


def message_key(row_id: str, version: int, content_hash: str) -> str:
    """The same for the same version of a record for ever.

    The number tells apart two times at which a record had the same content; the hash two crawls that both began at 1.
    """
    return hashlib.sha256(json.dumps([row_id, version, content_hash]).encode()).hexdigest()
