"""A parent that is killed alone leaves its workers waiting for its word to stop, which nobody will give."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

CLAIM = """
UPDATE queue SET owner = ? WHERE id =
(SELECT id FROM queue WHERE owner IS NULL AND NOT done ORDER BY id LIMIT 1) RETURNING id, path
"""
db = sqlite3.connect("crawl.db", isolation_level=None)


def work(stop: Path) -> None:
    while not stop.exists():
        claimed = db.execute(CLAIM, (os.getpid(),)).fetchall()
        if not claimed:
            time.sleep(0.02)
            continue
        page = get(claimed[0][1])
        db.execute("BEGIN IMMEDIATE")
        for link in links(page):
            db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
        if is_product(claimed[0][1]):
            db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
        db.execute("UPDATE queue SET done = 1 WHERE id = ?", claimed[0][:1])
        db.execute("COMMIT")


stop = Path(f"stop-{sys.argv[2] if 'work' in sys.argv else os.getpid()}")
if "work" in sys.argv:
    work(stop)
else:
    db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path UNIQUE, owner, done DEFAULT 0)")
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
    db.execute("UPDATE queue SET owner = NULL")
    workers = [subprocess.Popen([sys.executable, __file__, "work", str(os.getpid())]) for _ in range(2)]
    while db.execute("SELECT 1 FROM queue WHERE NOT done").fetchone():
        time.sleep(0.05)
    stop.touch()
    for worker in workers:
        worker.wait()
