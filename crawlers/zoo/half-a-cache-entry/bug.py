"""A cache entry is two files, and the one that makes it a hit is written first: a kill in between poisons the page."""

import json
import sqlite3
import sys
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

CACHE = Path("cache")


def fetch(path: str) -> str:
    """The page, out of the cache if it is there."""
    body = CACHE / path.strip("/").replace("/", "-")
    meta = body.with_suffix(".meta")
    if not meta.exists():
        page = get(path)
        meta.write_text(json.dumps({"path": path, "fetched": time.time()}))
        mark("half")
        body.write_text(page)
    return body.read_text()


CACHE.mkdir(exist_ok=True)
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
queue = deque(["/list/0"])
while queue:
    path = queue.popleft()
    try:
        page = fetch(path)
    except OSError as error:
        sys.stderr.write(f"{path}: {error}\n")
        continue
    queue.extend(links(page))
    if is_product(path):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
