"""A lease is longer than any fetch takes, so that each page has one worker."""

import sqlite3
import sys
import time
from pathlib import Path
from threading import Thread

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

LEASE_S = 60
CLAIM = """
UPDATE queue SET free_at = :now + :lease WHERE id =
(SELECT id FROM queue WHERE NOT done AND free_at < :now ORDER BY id LIMIT 1) RETURNING id, path
"""


def work() -> None:
    db = sqlite3.connect("crawl.db", isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")  # leases must not depend on the speed of a disk; a kill can't lose a write
    while db.execute("SELECT 1 FROM queue WHERE NOT done").fetchone():
        claimed = db.execute(CLAIM, {"now": time.monotonic(), "lease": LEASE_S}).fetchall()
        if not claimed:
            time.sleep(0.01)
            continue
        page = get(claimed[0][1])
        db.execute("BEGIN IMMEDIATE")
        for link in links(page):
            db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
        if is_product(claimed[0][1]):
            db.execute("INSERT INTO products VALUES (:sku, :title, :price)", row(page))
        db.execute("UPDATE queue SET done = 1 WHERE id = ?", claimed[0][:1])
        db.execute("COMMIT")


with sqlite3.connect("crawl.db") as db:
    db.execute(
        "CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path UNIQUE, free_at DEFAULT 0, done DEFAULT 0)"
    )
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
workers = [Thread(target=work), Thread(target=work)]
for worker in workers:
    worker.start()
