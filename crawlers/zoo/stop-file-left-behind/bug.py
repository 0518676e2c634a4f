"""Ctrl-C leaves a stop file for all who look, and only a crawl that gets to its end removes it."""

import signal
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

stop = Path("STOP")
signal.signal(signal.SIGINT, lambda *_: stop.touch())
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
while entry := db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone():
    if stop.exists():
        sys.exit()
    page = get(entry[1])
    db.execute("BEGIN")
    for link in links(page):
        db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
    if is_product(entry[1]):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
    db.execute("COMMIT")
stop.unlink(missing_ok=True)
