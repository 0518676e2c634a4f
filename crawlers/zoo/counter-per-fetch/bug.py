"""Rows are counted as their pages are fetched: a page that is fetched again is counted again."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS frontier (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO frontier (path) VALUES ('/list/0')")
db.execute("CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER)")
db.execute("INSERT OR IGNORE INTO counters VALUES ('rows', 0)")

NEXT = "SELECT id, path FROM frontier WHERE NOT done ORDER BY id LIMIT 1"
while entry := db.execute(NEXT).fetchone():
    if is_product(entry[1]):
        db.execute("UPDATE counters SET value = value + 1 WHERE name = 'rows'")
        db.commit()
    page = get(entry[1])
    if is_product(entry[1]):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    db.executemany("INSERT OR IGNORE INTO frontier (path) VALUES (?)", [(link,) for link in links(page)])
    db.execute("UPDATE frontier SET done = 1 WHERE id = ?", entry[:1])
    db.commit()
