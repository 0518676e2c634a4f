"""Ctrl-C sets a flag that ends the loop, and what was held back is written."""

import json
import signal
import sqlite3
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
asked: list[int] = []
signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
rows = []
idle_s = 0.0
while idle_s < 1 and not asked:
    entry = db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone()
    if entry is None:
        time.sleep(0.05)
        idle_s += 0.05
        continue
    page = get(entry[1])
    db.execute("BEGIN")
    for link in links(page):
        db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
    db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
    db.execute("COMMIT")
    if is_product(entry[1]):
        rows.append(row(page))
with open("out.jsonl", "a") as out:
    out.writelines(json.dumps(found) + "\n" for found in rows)
