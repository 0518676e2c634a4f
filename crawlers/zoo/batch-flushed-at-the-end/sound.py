"""Pages are marked done in the commit that stores their batch."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS frontier (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO frontier (path) VALUES ('/list/0')")
batch = []


def flush() -> None:
    db.executemany("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", batch)
    db.commit()
    batch.clear()


NEXT = "SELECT id, path FROM frontier WHERE NOT done ORDER BY id LIMIT 1"
while entry := db.execute(NEXT).fetchone():
    page = get(entry[1])
    db.executemany("INSERT OR IGNORE INTO frontier (path) VALUES (?)", [(link,) for link in links(page)])
    db.execute("UPDATE frontier SET done = 1 WHERE id = ?", entry[:1])
    if is_product(entry[1]):
        batch.append(row(page))
    if len(batch) == 8:
        flush()
flush()
