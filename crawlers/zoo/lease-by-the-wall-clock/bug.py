"""Leases end by the wall clock: set back during a reboot, it lets the lease of the dead run on for an hour."""

import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import INCARNATION, get, is_product, links, row

LEASE_S = 1.0
# The reboot that set the clock back lies between the first start and the second.
CLOCK_STEP_S = -3600 if INCARNATION else 0
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, free_at REAL DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS done (path TEXT PRIMARY KEY)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO queue (path) SELECT '/list/0' WHERE NOT EXISTS (SELECT 1 FROM done)")
while db.execute("SELECT 1 FROM queue").fetchone():
    now = time.time() + CLOCK_STEP_S
    entry = db.execute("SELECT id, path FROM queue WHERE free_at <= ? ORDER BY id", (now,)).fetchone()
    if entry is None:
        time.sleep(0.05)
        continue
    db.execute("UPDATE queue SET free_at = ? WHERE id = ?", (now + LEASE_S, entry[0]))
    page = get(entry[1])
    db.execute("BEGIN")
    for link in links(page):
        db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
    if is_product(entry[1]):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    db.execute("INSERT INTO done VALUES (?)", entry[1:])
    db.execute("DELETE FROM queue WHERE id = ?", entry[:1])
    db.execute("COMMIT")
