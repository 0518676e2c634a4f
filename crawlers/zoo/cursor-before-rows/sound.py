"""The cursor moves on in the transaction that stores the products of its list."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY, path TEXT)")
db.execute("INSERT OR IGNORE INTO position VALUES (1, '/list/0')")
while path := db.execute("SELECT path FROM position").fetchone()[0]:
    found = links(get(path))
    following = next((link for link in found if not is_product(link)), None)
    db.execute("UPDATE position SET path = ?", (following,))
    rows = [row(get(link)) for link in found if is_product(link)]
    db.executemany("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", rows)
    db.commit()
