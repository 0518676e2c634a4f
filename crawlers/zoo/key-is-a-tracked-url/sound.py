"""Rows are keyed by their URL without its query, which is the same in every run."""

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import INCARNATION, get, is_product, links, row

db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (url TEXT PRIMARY KEY, sku TEXT, title TEXT, price TEXT)")
queue = ["/list/0"]
for path in queue:
    url = f"{path}?visit={INCARNATION}"
    page = get(url)
    queue += links(page)
    if is_product(path):
        key = url.partition("?")[0]
        db.execute("INSERT OR REPLACE INTO products VALUES (:url, :sku, :title, :price)", {**row(page), "url": key})
