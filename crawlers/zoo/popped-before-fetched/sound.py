"""The same queue, whose entry is taken out in the transaction that stores what its page gave."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE)")
db.execute("CREATE TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")


def push(path: str) -> None:
    if db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (path,)).rowcount:
        db.execute("INSERT INTO queue (path) VALUES (?)", (path,))


db.execute("BEGIN")
push("/list/0")
db.execute("COMMIT")
while entry := db.execute("SELECT id, path FROM queue ORDER BY id LIMIT 1").fetchone():
    page = get(entry[1])
    db.execute("BEGIN")
    db.execute("DELETE FROM queue WHERE id = ?", entry[:1])
    for link in links(page):
        push(link)
    if is_product(entry[1]):
        found = row(page)
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", found)
    db.execute("COMMIT")
