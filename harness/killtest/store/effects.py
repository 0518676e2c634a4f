"""Read what a subject did beyond its rows: files, counters and captures, by their digests, so that evidence is small.

As for rows, nobody may write meanwhile, and nothing is opened for writing: databases are read from a copy.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from killtest import store
from killtest.errors import QueryError, StoreError
from killtest.plan.effects import CaptureNeeds, CounterNeeds, EffectNeeds, FileNeeds
from killtest.plan.manifest import StoreNeeds
from killtest.store.files import matching
from killtest.store.rows import Row, Rows, Value


class StoredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file: its path below the store folder, the key in its name (None: none, or none is looked for), its bytes."""

    path: str
    size_bytes: int
    sha256: str
    key: str | None = None


class Capture(msgspec.Struct, frozen=True):
    """A stored page: where it stands, the path of its URL and the digest of its body; None for what is not there."""

    place: str
    path: str | None
    sha256: str | None


class StoredEffects(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a store holds besides rows; `torn` are places among the captures that can't be read, with the reason.

    `unreadable` says by kind why nothing of it could be read.
    """

    files: tuple[StoredFile, ...] = ()
    counters: dict[str, Value] = {}
    captures: tuple[Capture, ...] = ()
    torn: tuple[str, ...] = ()
    unreadable: dict[str, str] = {}


def lasting(stored: StoredEffects | None) -> object:
    """What a start that has nothing to do must leave as it was: of captures which there are, not how often."""
    if stored is None:
        return None
    files = sorted((one.path, one.sha256) for one in stored.files)
    captures = sorted({repr((one.path, one.sha256)) for one in stored.captures})
    return files, sorted(map(repr, stored.counters.items())), captures, stored.torn, stored.unreadable


def read(needs: EffectNeeds, folder: Path, scratch: Path, server: str | None = None) -> StoredEffects | None:
    """What is declared, read below `folder` by way of the empty folder `scratch`; None when nothing is declared.

    QueryError when a question is wrong; what else can't be read is named in `unreadable`.
    """
    if not needs.kinds:
        return None
    found: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    if needs.files is not None:
        found["files"] = _files(needs.files, folder)
    if needs.counters is not None:
        with _naming(unreadable, "counters"):
            found["counters"] = _counters(needs.counters, folder, scratch, server)
    if needs.captures is not None:
        with _naming(unreadable, "captures"):
            rows = _captured(needs.captures, folder, scratch, server)
            found |= {"captures": tuple(map(_capture, rows.rows)), "torn": rows.damage}
    return StoredEffects(**found, unreadable=unreadable)


@contextmanager
def _naming(unreadable: dict[str, str], kind: str) -> Iterator[None]:
    """A kind whose store can't be read is named; a wrong question is the manifest's mistake, and goes on."""
    try:
        yield
    except QueryError:
        raise
    except StoreError as error:
        unreadable[kind] = str(error)


def _files(needs: FileNeeds, folder: Path) -> tuple[StoredFile, ...]:
    pattern = None if needs.key is None else re.compile(needs.key)
    found = []
    for path in matching(folder, needs.path):
        place = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        match = None if pattern is None else pattern.search(place)
        data = path.read_bytes()
        found.append(StoredFile(place, len(data), sha256(data).hexdigest(), match[1] if match else None))
    return tuple(found)


def _counters(needs: CounterNeeds, folder: Path, scratch: Path, server: str | None) -> dict[str, Value]:
    if needs.reader == "json":
        return _object(folder / needs.path)
    query = _renamed(needs.query, "counter", "value")
    rows = _read(StoreNeeds(needs.reader, needs.path, query), folder, scratch, server).rows
    return {str(row.key): row.values.get("value") for row in rows}


def _object(path: Path) -> dict[str, Value]:
    """The counters of a JSON file; none while there is no file. StoreError when it is no object of plain values."""
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Value])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"counters {path.name}: no object of counters and their values: {error}") from None


def _captured(needs: CaptureNeeds, folder: Path, scratch: Path, server: str | None) -> Rows:
    if needs.query is None:
        rows = _read(StoreNeeds(needs.reader, needs.path, key=needs.url), folder, scratch, server)
        named = tuple(Row(row.key, {"body": row.values.get(needs.body)}, row.place) for row in rows.rows)
        return msgspec.structs.replace(rows, rows=named)
    query = _renamed(needs.query, needs.url, needs.body, "body")
    return _read(StoreNeeds(needs.reader, needs.path, query), folder, scratch, server)


def _capture(row: Row) -> Capture:
    body = row.values.get("body")
    digest = sha256(body.encode("utf-8", "surrogatepass")).hexdigest() if isinstance(body, str) else None
    return Capture(row.place, None if row.key is None else _path(row.key), digest)


def _path(url: str) -> str | None:
    """The path of a URL; None when it can't be one."""
    try:
        return urlsplit(url).path or "/"
    except ValueError:
        return None


def _renamed(query: str | None, key: str, column: str, name: str | None = None) -> str:
    """The query with its columns under the names that the readers of rows want.

    With the table before them, as SQLite takes a quoted name that is no column for a text. The query may end with a
    comment, hence the line of its own.
    """
    inner = (query or "").strip().rstrip(";")
    return f'SELECT found."{key}" AS key, found."{column}" AS {name or column} FROM (\n{inner}\n) AS found'


def _read(needs: StoreNeeds, folder: Path, scratch: Path, server: str | None) -> Rows:
    """The rows, none while there is no store; each reading has a copy of its own."""
    place = scratch / "effects"
    place.mkdir(exist_ok=True)
    rows = store.read(needs, folder, place, server)
    for left in place.iterdir():
        left.unlink()
    return rows or Rows()
