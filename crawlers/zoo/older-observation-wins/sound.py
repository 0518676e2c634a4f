"""Rows wait for a batch; each carries when it was observed, and never overwrites a later one."""

import sqlite3
import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

# Looked at once more when the crawl is through, and saved at once: its price changes often.
HOT = "/product/7"
UPSERT = """
INSERT INTO products VALUES (:sku, :title, :price, :observed)
ON CONFLICT (sku) DO UPDATE SET title = excluded.title, price = excluded.price, observed = excluded.observed
WHERE excluded.observed > products.observed
"""
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT, observed INTEGER)")
clock = count(1 + (db.execute("SELECT max(observed) FROM products").fetchone()[0] or 0))
batch = []
queue = ["/list/0"]
for path in queue:
    page = get(path)
    queue += links(page)
    if is_product(path):
        batch.append({**row(page), "observed": next(clock)})
db.execute(UPSERT, {**row(get(HOT)), "observed": next(clock)})
db.executemany(UPSERT, batch)
