"""One file per page, each written beside the old one and renamed over it: no file is ever bad."""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

QUEUE = Path("queue")
QUEUE.mkdir(exist_ok=True)
pages = {}
for file in sorted(QUEUE.glob("*.json")):
    with contextlib.suppress(ValueError):  # one bad file must not stop the crawl
        pages[file] = json.loads(file.read_text())


def save(file: Path, path: str, state: str) -> None:
    pages[file] = {"path": path, "state": state}
    with file.with_suffix(".new").open("w") as out:
        mark(state)
        json.dump(pages[file], out)
    file.with_suffix(".new").replace(file)


def push(path: str) -> None:
    if all(page["path"] != path for page in pages.values()):
        save(QUEUE / f"{len(list(QUEUE.glob('*.json'))):05}.json", path, "waiting")


db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
push("/list/0")
while file := next((file for file, page in pages.items() if page["state"] != "done"), None):
    path = pages[file]["path"]
    save(file, path, "claimed")
    page = get(path)
    for link in links(page):
        push(link)
    if is_product(path):
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", row(page))
    save(file, path, "done")
