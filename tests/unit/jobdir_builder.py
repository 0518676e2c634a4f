"""JOBDIRs made byte by byte, as Scrapy 2.19 and queuelib 1.10 leave them behind a clean stop."""

import hashlib
import json
import os
import pickle
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from killtest.jobdir.queued_request import fingerprint

SLOT = "shop.test"
FOLDER = f"requests.queue/{SLOT}-{hashlib.md5(SLOT.encode()).hexdigest()}"
INDEX, SEEN, STATE = "requests.queue/active.json", "requests.seen", "spider.state"
QUEUE, START = f"{FOLDER}/0", f"{FOLDER}/0s"
KINDS = ("lifo", "fifo", "sqlite")


def url(number: int) -> str:
    return f"http://{SLOT}/product/{number}"


def request(number: int, **changes: Any) -> dict[str, Any]:
    """A request as Request.to_dict gives it."""
    facts = {
        "url": url(number),
        "callback": "parse",
        "errback": None,
        "headers": {b"Referer": [b"http://shop.test/list/0"]},
        "body": b"",
        "cookies": {},
        "meta": {"depth": 1},
        "encoding": "utf-8",
        "flags": [],
        "cb_kwargs": {},
        "dont_filter": False,
        "method": "GET",
        "priority": 0,
    }
    return facts | changes


def record(number: int, **changes: Any) -> bytes:
    return pickle.dumps(request(number, **changes), protocol=4)


def records(*numbers: int) -> list[bytes]:
    return [record(number) for number in numbers]


def seen(*numbers: int) -> bytes:
    """requests.seen with the fingerprints of these products."""
    return b"".join(b"\0\x14" + fingerprint(url(number), "GET", b"") for number in numbers)


def lifo(items: Iterable[bytes], header: int | None = None) -> bytes:
    items = list(items)
    head = (len(items) if header is None else header).to_bytes(4, "big")
    return head + b"".join(item + len(item).to_bytes(4, "big") for item in items)


def chunk(items: Iterable[bytes]) -> bytes:
    return b"".join(len(item).to_bytes(4, "big") + item for item in items)


def info(size: int, tail: tuple[int, int, int] = (0, 0, 0), head: tuple[int, int] | None = None) -> bytes:
    table = {"chunksize": 100000, "size": size, "tail": tail, "head": head or (0, tail[1] + size)}
    return json.dumps(table).encode()


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def sqlite(path: Path, items: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY AUTOINCREMENT, item BLOB)")
        db.executemany("INSERT INTO queue (item) VALUES (?)", [(item,) for item in items])
    db.close()


def clean(folder: Path, kind: str = "lifo", numbers: tuple[int, ...] = (3, 4, 5), **changes: bytes) -> Path:
    """Products 1 to 5 are known, 1 and 2 were fetched and `numbers` wait; `changes` replace files by these bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    write(
        folder,
        {
            SEEN: seen(1, 2, 3, 4, 5),
            STATE: pickle.dumps({"count": 2, "urls": [url(1), url(2)]}, protocol=4),
            INDEX: json.dumps({SLOT: [0]}).encode(),
        },
    )
    if kind == "lifo":
        write(folder, {QUEUE: lifo(records(*numbers))})
    elif kind == "fifo":
        done = chunk(records(1, 2))
        files = {"q00000": done + chunk(records(*numbers)), "info.json": info(len(numbers), (0, 2, len(done)))}
        write(folder, {f"{QUEUE}/{name}": data for name, data in files.items()})
    else:
        sqlite(folder / QUEUE, records(*numbers))
    return folder


def state_of(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What must not change: names, sizes, contents and times of change of everything below a folder."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(place, name)
            facts = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(folder))] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, data)
    return found
