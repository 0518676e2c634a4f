"""The file of the queue is emptied and written anew after each page: a kill in between, and no start works any more."""

import pickle
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

STATE = Path("queue.pickle")

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
queue = pickle.loads(STATE.read_bytes()) if STATE.exists() else ["/list/0"]
while queue:
    page = get(queue[0])
    if is_product(queue[0]):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    queue = queue[1:] + links(page)
    with STATE.open("wb") as file:
        mark("saving")
        pickle.dump(queue, file)
