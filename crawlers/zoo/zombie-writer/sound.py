"""A worker that was held up beyond its lease finds that the page has another owner, and stores nothing."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

ME, LEASE_S = os.getpid(), 0.3
CLAIM = """
UPDATE queue SET owner = :me, free_at = :now + :lease, tries = tries + 1 WHERE id =
(SELECT id FROM queue WHERE NOT done AND free_at < :now ORDER BY id LIMIT 1) RETURNING id, path, tries
"""
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("PRAGMA synchronous = OFF")  # leases must not depend on the speed of a disk; a kill can't lose a write


def work() -> None:
    while db.execute("SELECT 1 FROM queue WHERE NOT done").fetchone():
        claimed = db.execute(CLAIM, {"me": ME, "now": time.monotonic(), "lease": LEASE_S}).fetchall()
        if not claimed:
            time.sleep(0.02)
            continue
        number, path, tries = claimed[0]
        page = get(path)
        db.execute("BEGIN IMMEDIATE")
        done = db.execute("UPDATE queue SET done = 1 WHERE id = ? AND owner = ?", (number, ME)).rowcount
        if done and is_product(path):
            db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
        for link in links(page):
            db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
        db.execute("COMMIT")
        if tries > 1:
            mark("taken-over")


if "work" in sys.argv:
    work()
else:
    columns = "id INTEGER PRIMARY KEY, path UNIQUE, owner, free_at DEFAULT 0, tries DEFAULT 0, done DEFAULT 0"
    db.execute(f"CREATE TABLE IF NOT EXISTS queue ({columns})")
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
    workers = [subprocess.Popen([sys.executable, __file__, "work"]) for _ in range(2)]
    codes = [worker.wait() for worker in workers]
    sys.exit(any(codes))
