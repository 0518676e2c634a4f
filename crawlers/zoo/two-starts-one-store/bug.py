"""A launcher is killed and its crawler lives on in its own session: the restart puts a second one on the store."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row


def parse(page: str) -> dict[str, str]:
    if "SKU-00020" in page:  # takes long enough for another crawler to come by
        Path(f"parsing-{os.getpid()}").touch()
        ends_s = time.monotonic() + 1.5
        time.sleep(0.2)
        while time.monotonic() < ends_s and len(list(Path().glob("parsing-*"))) < 2:
            time.sleep(0.01)
    return row(page)


def crawl() -> None:
    db = sqlite3.connect("crawl.db", isolation_level=None)
    db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
    while entry := db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone():
        page = get(entry[1])
        found = parse(page) if is_product(entry[1]) else None
        db.execute("BEGIN IMMEDIATE")
        for link in links(page):
            db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
        if found:
            db.execute("INSERT INTO products VALUES (:sku, :title, :price)", found)
        db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
        db.execute("COMMIT")


if "crawl" in sys.argv:
    crawl()
else:
    sys.exit(subprocess.call([sys.executable, __file__, "crawl"], start_new_session=True))
