"""A picture gets its name when it is all there."""

import shutil
import sqlite3
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import SITE, get, is_product, links, picture_path, row

db = sqlite3.connect("crawl.db")
db.execute("CREATE TABLE IF NOT EXISTS frontier (id INTEGER PRIMARY KEY, path TEXT UNIQUE, done INTEGER DEFAULT 0)")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, title TEXT, price TEXT)")
db.execute("INSERT OR IGNORE INTO frontier (path) VALUES ('/list/0')")
Path("images").mkdir(exist_ok=True)

NEXT = "SELECT id, path FROM frontier WHERE NOT done ORDER BY id LIMIT 1"
while entry := db.execute(NEXT).fetchone():
    page = get(entry[1])
    if is_product(entry[1]):
        found = row(page)
        picture = Path("images") / f"{found['sku']}.bmp"
        if not picture.exists():
            part = picture.with_suffix(".part")
            with part.open("wb") as file, urllib.request.urlopen(SITE + picture_path(page)) as answer:
                shutil.copyfileobj(answer, file)
            part.replace(picture)
        db.execute("INSERT OR REPLACE INTO products VALUES (:sku, :title, :price)", found)
    db.executemany("INSERT OR IGNORE INTO frontier (path) VALUES (?)", [(link,) for link in links(page)])
    db.execute("UPDATE frontier SET done = 1 WHERE id = ?", entry[:1])
    db.commit()
