"""What no entry of the index covers is cut off before anything is appended."""

import gzip
import json
import os
import sqlite3
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

index = sqlite3.connect("index.db", isolation_level=None)
index.execute("CREATE TABLE IF NOT EXISTS records (path TEXT PRIMARY KEY, start INTEGER, stop INTEGER)")
done = {path for (path,) in index.execute("SELECT path FROM records")}
queue = deque(["/list/0"])
with open("products.jsonl.gz", "ab", buffering=0) as archive:
    archive.truncate(index.execute("SELECT coalesce(max(stop), 0) FROM records").fetchone()[0])
    while queue:
        path = queue.popleft()
        if path in done:
            continue
        page = get(path)
        queue.extend(links(page))
        if is_product(path):
            start = archive.seek(0, os.SEEK_END)
            with gzip.GzipFile("", "wb", fileobj=archive, mtime=0) as member:
                member.write(json.dumps({"path": path} | row(page)).encode() + b"\n")
                mark("compressing")
            index.execute("INSERT INTO records VALUES (?, ?, ?)", (path, start, archive.tell()))
