"""The message is committed with the row and goes out after that, with a key made from it."""

import json
import sqlite3
import sys
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, post, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS frontier (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO frontier (path) VALUES ('/list/0')")
db.execute("CREATE TABLE IF NOT EXISTS outbox (message TEXT UNIQUE, sent INTEGER DEFAULT 0)")


def send() -> None:
    for (message,) in db.execute("SELECT message FROM outbox WHERE NOT sent").fetchall():
        post("/hook", json.loads(message), key=sha256(message.encode()).hexdigest())
        db.execute("UPDATE outbox SET sent = 1 WHERE message = ?", (message,))
        db.commit()


NEXT = "SELECT id, path FROM frontier WHERE NOT done ORDER BY id LIMIT 1"
send()
while entry := db.execute(NEXT).fetchone():
    page = get(entry[1])
    if is_product(entry[1]):
        found = row(page)
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", found)
        db.execute("INSERT OR IGNORE INTO outbox (message) VALUES (?)", (json.dumps(found),))
    db.executemany("INSERT OR IGNORE INTO frontier (path) VALUES (?)", [(link,) for link in links(page)])
    db.execute("UPDATE frontier SET done = 1 WHERE id = ?", entry[:1])
    db.commit()
    send()
