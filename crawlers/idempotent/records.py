"""The records table: one row per product, whoever stores it and however often.

The row's id is a hash of source and natural key, so the same product always lands on the same row. A row is
written only when its content hash changes; so `first_seen`, `last_changed` (seconds since the epoch) and
`version` (from 1) are true, and a crawl of an unchanged shop changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3

SCHEMA = """CREATE TABLE IF NOT EXISTS records (
    id           TEXT PRIMARY KEY,
    source       TEXT NOT NULL,
    natural_key  TEXT NOT NULL,
    data         TEXT NOT NULL,  -- JSON
    content_hash TEXT NOT NULL,
    first_seen   REAL NOT NULL,
    last_changed REAL NOT NULL,
    version      INTEGER NOT NULL)"""
UPSERT_SQL = """INSERT INTO records VALUES (:id, :source, :key, :data, :hash, :now, :now, 1)
    ON CONFLICT (id) DO UPDATE SET data = :data, content_hash = :hash, last_changed = :now, version = version + 1
    WHERE content_hash <> :hash"""


def record_id(source: str, natural_key: str) -> str:
    """The same for the same product for ever. JSON keeps ("a", "bc") and ("ab", "c") apart."""
    return hashlib.sha256(json.dumps([source, natural_key]).encode()).hexdigest()


def upsert(db: sqlite3.Connection, source: str, natural_key: str, fields: dict[str, str], now_s: float) -> bool:
    """Lay `fields` over what is stored of this product; True when that changed anything.

    Fields that are not given stay, so a product may be put together from several pages in any order.
    Runs in the caller's transaction.
    """
    row_id = record_id(source, natural_key)
    known = db.execute("SELECT data FROM records WHERE id = ?", (row_id,)).fetchone()
    merged = {**(json.loads(known[0]) if known else {}), **fields}
    data = json.dumps(merged, ensure_ascii=False, sort_keys=True)  # sorted: equal content, equal hash
    content_hash = hashlib.sha256(data.encode()).hexdigest()
    row = {"id": row_id, "source": source, "key": natural_key, "data": data}
    return db.execute(UPSERT_SQL, {**row, "hash": content_hash, "now": now_s}).rowcount > 0
