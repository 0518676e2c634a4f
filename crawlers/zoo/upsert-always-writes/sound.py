"""The upsert writes only when a field differs."""

import sqlite3
import sys
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

UPSERT = """INSERT INTO products VALUES (:sku, :title, :price, :now) ON CONFLICT (sku) DO UPDATE
    SET title = excluded.title, price = excluded.price, last_changed = excluded.last_changed
    WHERE (title, price) IS NOT (excluded.title, excluded.price)"""

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT, last_changed REAL)")
queue = deque(["/list/0"])
while queue:
    path = queue.popleft()
    page = get(path)
    queue.extend(links(page))
    if is_product(path):
        db.execute(UPSERT, row(page) | {"now": time.time()})
