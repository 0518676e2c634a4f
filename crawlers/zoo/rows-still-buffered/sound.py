"""Each line is in the file before its page is marked done (a kill between the two may repeat it, never lose it)."""

import json
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS frontier (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("INSERT OR IGNORE INTO frontier (path) VALUES ('/list/0')")

NEXT = "SELECT id, path FROM frontier WHERE NOT done ORDER BY id LIMIT 1"
with open("products.jsonl", "a", buffering=1, encoding="utf-8") as out:
    while entry := db.execute(NEXT).fetchone():
        page = get(entry[1])
        if is_product(entry[1]):
            out.write(json.dumps(row(page)) + "\n")
        db.executemany("INSERT OR IGNORE INTO frontier (path) VALUES (?)", [(link,) for link in links(page)])
        db.execute("UPDATE frontier SET done = 1 WHERE id = ?", entry[:1])
        db.commit()
