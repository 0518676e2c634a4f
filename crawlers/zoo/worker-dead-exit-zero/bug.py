"""The supervisor ends with 0 however its worker ended, so that nobody starts it again."""

import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row


def work() -> None:
    db = sqlite3.connect("crawl.db", isolation_level=None)
    db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
    while entry := db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone():
        page = get(entry[1])
        db.execute("BEGIN")
        for link in links(page):
            db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
        if is_product(entry[1]):
            db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
        db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
        db.execute("COMMIT")


if "work" in sys.argv:
    work()
else:
    code = subprocess.call([sys.executable, __file__, "work"])
    sys.exit(0)
