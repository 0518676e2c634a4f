"""The parser runs in a thread of its own, so that the event loop goes on renewing the lease."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

LEASE_S = 0.5
CLAIM = """
UPDATE queue SET free_at = :now + :lease, tries = tries + 1 WHERE id =
(SELECT id FROM queue WHERE NOT done AND free_at < :now ORDER BY id LIMIT 1) RETURNING id, path
"""
db = sqlite3.connect("crawl.db", isolation_level=None, check_same_thread=False)
db.execute("PRAGMA synchronous = OFF")  # leases must not depend on the speed of a disk; a kill can't lose a write


async def renew(number: int) -> None:
    while await asyncio.sleep(LEASE_S / 5, True):
        db.execute("UPDATE queue SET free_at = ? WHERE id = ?", (time.monotonic() + LEASE_S, number))


def parse(number: int, page: str) -> dict[str, str]:
    retried = "SELECT 1 FROM queue WHERE id = ? AND tries > 1"
    ends_s = time.monotonic() + 1.5 if "SKU-00007" in page else 0
    while time.monotonic() < ends_s and not db.execute(retried, (number,)).fetchone():
        time.sleep(0.02)  # takes long enough for another worker to come by
    return row(page)


async def work() -> None:
    while db.execute("SELECT 1 FROM queue WHERE NOT done").fetchone():
        claimed = db.execute(CLAIM, {"now": time.monotonic(), "lease": LEASE_S}).fetchall()
        if not claimed:
            await asyncio.sleep(0.02)
            continue
        number, path = claimed[0]
        renewal = asyncio.create_task(renew(number))
        page = get(path)
        if is_product(path):
            found = await asyncio.to_thread(parse, number, page)
            db.execute("INSERT INTO products VALUES (:sku, :title, :price)", found)
        db.executemany("INSERT OR IGNORE INTO queue (path) VALUES (?)", [(link,) for link in links(page)])
        renewal.cancel()
        db.execute("UPDATE queue SET done = 1 WHERE id = ?", (number,))


if "work" not in sys.argv:
    columns = "id INTEGER PRIMARY KEY, path UNIQUE, free_at DEFAULT 0, tries DEFAULT 0, done DEFAULT 0"
    db.execute(f"CREATE TABLE IF NOT EXISTS queue ({columns})")
    db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT, title TEXT, price TEXT)")
    db.execute("INSERT OR IGNORE INTO queue (path) VALUES ('/list/0')")
    other = subprocess.Popen([sys.executable, __file__, "work"])
asyncio.run(work())
if "work" not in sys.argv:
    other.wait()
