"""Guess how to read a store from the files that a crawl left and the keys that must be in them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from killtest.errors import StoreError
from killtest.judge.truth import FIELDS
from killtest.plan.manifest import StoreNeeds
from killtest.store import snapshot, sqlite
from killtest.store.files import matching
from killtest.store.snapshot import Snapshot

# So many files of a kind may be different things, such as a log beside the rows.
_FEW = 5
_DELIMITERS = (",", ";", "\t", "|")
_COMPANIONS = ("-wal", "-journal", "-shm")
# By what they tell when two catch the same keys: markup says more than the bare form of a key.
_CONTENT_KEYS = (r'class="sku">([^<]+)<', r'"sku": *"([^"]+)"', r"\b(SKU-\d+)\b")
_CONTENT_FIELDS = {
    name: rf'class="{name}">([^<]+)<' for name in FIELDS if name not in ("sku", "image")
}  # as the shop's pages mark them


def guesses(store: Path, scratch: Path, keys: frozenset[str]) -> list[StoreNeeds]:
    """Ways to read what lies below `store` that find some of `keys`, the best first.

    Every guess is tried with the very reader that a trial will use. More keys are better, then fewer rows beyond
    them, then more columns to compare; a database comes before lines, lines and tables before files.
    """
    ranked: list[tuple[int, int, int, int, StoreNeeds]] = []
    for needs in _candidates(store, scratch, keys):
        taken = snapshot.take(needs, store, scratch, 0)
        found = {row.key for row in taken.rows} & keys
        if found:
            compared = {name for row in taken.rows for name in row.values} & set(FIELDS)
            surplus = len(taken.rows) + len(taken.damage) - len(found)
            ranked.append((-len(found), surplus, -len(compared), len(ranked), needs))
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]


def columns(needs: StoreNeeds, store: Path, scratch: Path) -> str:
    """In words, what there is to choose a key from; empty when nothing can be said."""
    if needs.reader == "sqlite":
        return "; ".join(f"{table} has {', '.join(names)}" for table, names in _tables(store, needs, scratch).items())
    if needs.reader != "files":
        return ", ".join(_names(snapshot.take(needs, store, scratch, 0)))
    files = matching(store, needs.path)
    return f"{len(files)} files such as {files[0].relative_to(store)}" if files else ""


def _candidates(store: Path, scratch: Path, keys: frozenset[str]) -> Iterator[StoreNeeds]:
    files = [path for path in matching(store, "**/*") if not path.name.endswith(_COMPANIONS)]
    databases = [path for path in files if _is_database(path)]
    for path in databases:
        yield from _of_database(str(path.relative_to(store)), store, scratch)
    groups = list(_patterns(store, [path for path in files if path not in databases]))
    for pattern in groups:
        for needs in _of_texts(pattern):
            taken = snapshot.take(needs, store, scratch, 0)
            # A first row that holds keys is no header, so this is no table that the reader could read.
            if not keys.intersection(_names(taken)):
                yield from (msgspec.structs.replace(needs, key=name) for name in _columns_with(keys, taken))
    for pattern in groups:
        yield from _of_files(pattern)


def _of_texts(pattern: str) -> Iterator[StoreNeeds]:
    """Ways to read a text, each with a key that serves to see its columns."""
    yield StoreNeeds("jsonl", pattern, key="key")
    yield StoreNeeds("json", pattern, key="key")
    yield from (StoreNeeds("csv", pattern, key="key", delimiter=mark) for mark in _DELIMITERS)


def _columns_with(keys: frozenset[str], taken: Snapshot) -> list[str]:
    """The columns in which some key of the shop stands."""
    found = {name for row in taken.rows for name, value in row.values.items() if value in keys}
    return [name for name in _names(taken) if name in found or name == "key"]


def _is_database(path: Path) -> bool:
    with path.open("rb") as handle:
        return handle.read(len(sqlite.MAGIC)) == sqlite.MAGIC


def _of_database(path: str, store: Path, scratch: Path) -> Iterator[StoreNeeds]:
    for table, names in _tables(store, StoreNeeds("sqlite", path), scratch).items():
        for name in names:
            others = [_quoted(other) for other in names if other in FIELDS and other != name]
            wanted = ", ".join([f"{_quoted(name)} AS key", *others])
            yield StoreNeeds("sqlite", path, query=f"SELECT {wanted} FROM {_quoted(table)}")


def _tables(store: Path, needs: StoreNeeds, scratch: Path) -> dict[str, list[str]]:
    """The tables of a database, in a scratch folder of its own: copies of two databases must not meet."""
    place = scratch.with_name(f"{scratch.name}-tables")
    place.mkdir(parents=True, exist_ok=True)
    try:
        return sqlite.tables(store / needs.path, place)
    except (StoreError, OSError):
        return {}
    finally:
        for path in place.iterdir():
            path.unlink()
        place.rmdir()


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def _patterns(store: Path, files: Iterable[Path]) -> Iterator[str]:
    """One pattern for all files of a folder that end alike; where they are few, also each file's own path."""
    groups: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in files:
        relative = path.relative_to(store)
        endings = relative.suffixes[-2:] if relative.suffix == ".gz" else relative.suffixes[-1:]
        groups[relative.parent, "".join(endings)].append(relative)
    for (folder, suffix), members in groups.items():
        if len(members) <= _FEW:
            yield from map(str, members)
        if len(members) > 1:
            yield str(folder / f"*{suffix}")


def _names(taken: Snapshot) -> list[str]:
    """The columns of all rows; `key` among them when that is what a column is called."""
    names = dict.fromkeys(name for row in taken.rows for name in row.values)
    return [*names, *(["key"] if any(row.key is not None for row in taken.rows) else [])]


def _of_files(pattern: str) -> Iterator[StoreNeeds]:
    suffix = re.escape(Path(pattern).suffix)
    for key in (rf"([^/]+){suffix}$", r"(SKU-\d+)"):
        yield StoreNeeds("files", pattern, key=key)
    for key in _CONTENT_KEYS:
        fields = _CONTENT_FIELDS if "class=" in key else {}
        yield StoreNeeds("files", pattern, key=key, key_from="content", fields=fields)
