"""At its end the crawl deletes what it has not confirmed, and a restart counts as another crawl."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import INCARNATION, get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, crawl INTEGER, done INTEGER)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT, crawl INTEGER)")
db.execute("INSERT OR IGNORE INTO queue (path, crawl, done) VALUES ('/list/0', ?, 0)", (INCARNATION,))
crawl = INCARNATION
while entry := db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone():
    page = get(entry[1])
    db.execute("BEGIN")
    for link in links(page):
        db.execute("INSERT OR IGNORE INTO queue (path, crawl, done) VALUES (?, ?, 0)", (link, crawl))
    if is_product(entry[1]):
        found = {**row(page), "crawl": crawl}
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price, :crawl)", found)
    db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
    db.execute("COMMIT")
db.execute("DELETE FROM products WHERE crawl < ?", (crawl,))
