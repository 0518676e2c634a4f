"""Each of two workers ends when every page is done: a lease that is out is waited for."""

import multiprocessing
import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

LEASE_S = 3
CLAIM = """UPDATE pages SET leased_until = :now + :lease WHERE id =
    (SELECT id FROM pages WHERE NOT done AND leased_until < :now ORDER BY id LIMIT 1) RETURNING path"""


def work() -> None:
    db = sqlite3.connect("crawl.db", isolation_level=None)
    while db.execute("SELECT 1 FROM pages WHERE NOT done").fetchone():
        for (path,) in db.execute(CLAIM, {"now": time.time(), "lease": LEASE_S}).fetchall():
            found = row(get(path))
            db.execute("BEGIN")
            db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", found)
            db.execute("UPDATE pages SET done = 1 WHERE path = ?", (path,))
            db.execute("COMMIT")
        time.sleep(0.01)  # be polite


db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute(
    "CREATE TABLE IF NOT EXISTS pages"
    " (id INTEGER PRIMARY KEY, path TEXT UNIQUE, leased_until REAL DEFAULT 0, done INTEGER DEFAULT 0)"
)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
path = "/list/0"
while path:
    found = links(get(path))
    db.executemany("INSERT OR IGNORE INTO pages (path) VALUES (?)", [(link,) for link in found if is_product(link)])
    path = next((link for link in found if not is_product(link)), None)
db.close()
workers = [multiprocessing.get_context("fork").Process(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
