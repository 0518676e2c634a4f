"""Eight pages at a time are taken and acknowledged, then fetched: a kill loses those of the eight not yet stored."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db")
db.execute(
    "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, path TEXT UNIQUE, acknowledged INTEGER DEFAULT 0)"
)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO pages (path) VALUES ('/list/0')")

ACKNOWLEDGE = "UPDATE pages SET acknowledged = 1 WHERE id = ?"
PREFETCH = "SELECT id, path FROM pages WHERE NOT acknowledged ORDER BY id LIMIT 8"
while batch := db.execute(PREFETCH).fetchall():
    db.executemany(ACKNOWLEDGE, [(number,) for number, _ in batch])
    db.commit()
    for _, path in batch:
        page = get(path)
        db.executemany("INSERT OR IGNORE INTO pages (path) VALUES (?)", [(link,) for link in links(page)])
        if is_product(path):
            db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
        db.commit()
