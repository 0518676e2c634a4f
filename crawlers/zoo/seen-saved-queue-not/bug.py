"""The set of seen pages is in the database and the queue in memory: after a kill everything counts as seen."""

import sqlite3
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
queue = deque()


def push(path: str) -> None:
    if db.execute("INSERT OR IGNORE INTO seen (path) VALUES (?)", (path,)).rowcount:
        queue.append(path)


push("/list/0")
while queue:
    path = queue.popleft()
    page = get(path)
    for link in links(page):
        push(link)
    if is_product(path):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
