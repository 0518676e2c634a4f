"""A page that is claimed when the process dies stays claimed: the next start passes over it."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

CLAIM = """UPDATE pages SET state = 'claimed' WHERE id =
    (SELECT id FROM pages WHERE state = 'waiting' ORDER BY id LIMIT 1) RETURNING id, path"""

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, path TEXT UNIQUE, state TEXT DEFAULT 'waiting')")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO pages (path) VALUES ('/list/0')")
while claimed := db.execute(CLAIM).fetchall():
    [(number, path)] = claimed
    page = get(path)
    db.execute("BEGIN")
    db.executemany("INSERT OR IGNORE INTO pages (path) VALUES (?)", [(link,) for link in links(page)])
    if is_product(path):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    db.execute("UPDATE pages SET state = 'done' WHERE id = ?", (number,))
    db.execute("COMMIT")
