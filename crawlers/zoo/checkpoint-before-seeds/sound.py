"""The seeds are queued before the first checkpoint is written: there is none of an empty crawl."""

import json
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

state = Path("state.json")
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")


def checkpoint() -> None:
    state.with_suffix(".new").write_text(json.dumps(queue))
    state.with_suffix(".new").replace(state)
    mark("checkpoint")


queue: list[str] = []
if state.exists():
    queue = json.loads(state.read_text())
else:
    queue.append("/list/0")
    checkpoint()
while queue:
    page = get(queue[0])
    if is_product(queue[0]):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    queue = queue[1:] + links(page)
    checkpoint()
