"""Rows are kept in memory and written by an exit hook, which a signal's default action skips."""

import atexit
import json
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
rows: list[dict[str, str]] = []


@atexit.register
def save() -> None:
    with open("out.jsonl", "a") as out:
        out.writelines(json.dumps(found) + "\n" for found in rows)


while entry := db.execute("SELECT id, path FROM queue WHERE NOT done ORDER BY id LIMIT 1").fetchone():
    page = get(entry[1])
    db.execute("BEGIN")
    for link in links(page):
        db.execute("INSERT OR IGNORE INTO queue (path) VALUES (?)", (link,))
    db.execute("UPDATE queue SET done = 1 WHERE id = ?", entry[:1])
    db.execute("COMMIT")
    if is_product(entry[1]):
        rows.append(row(page))
