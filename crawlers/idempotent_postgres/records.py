"""The records table in PostgreSQL: one row per product, whoever stores it and however often."""

from __future__ import annotations

import hashlib
import json

from psycopg import Connection
from psycopg.types.json import Jsonb

SCHEMA = """CREATE TABLE IF NOT EXISTS records (
    id           text PRIMARY KEY,
    source       text NOT NULL,
    natural_key  text NOT NULL,
    data         jsonb NOT NULL,
    first_seen   timestamptz NOT NULL,
    last_changed timestamptz NOT NULL)"""
# jsonb is equal when its content is: a row is written only when that changes. The row is locked while the server
# lays one over the other, so two workers with two pages of one product lose nothing of each other's.
UPSERT_SQL = """INSERT INTO records
    VALUES (%(id)s, %(source)s, %(key)s, %(data)s, to_timestamp(%(now)s), to_timestamp(%(now)s))
    ON CONFLICT (id) DO UPDATE SET data = records.data || excluded.data, last_changed = excluded.last_changed
    WHERE records.data || excluded.data <> records.data"""


def upsert(tables: Connection, source: str, natural_key: str, fields: dict[str, str], now_s: float) -> bool:
    """Lay `fields` over what is stored of this product; True when that changed anything.

    Runs in the caller's transaction.
    """
    row_id = hashlib.sha256(json.dumps([source, natural_key]).encode()).hexdigest()
    row = {"id": row_id, "source": source, "key": natural_key, "data": Jsonb(fields), "now": now_s}
    return tables.execute(UPSERT_SQL, row).rowcount > 0
