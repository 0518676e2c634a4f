"""Readers: what they find, what they salvage, and that they change nothing."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest import store
from killtest.errors import StoreError
from killtest.plan.manifest import StoreNeeds
from killtest.store import snapshot
from killtest.store.rows import Row, Rows
from killtest.store.snapshot import Snapshot, from_lines, to_lines
from msgspec.structs import replace

SQLITE = StoreNeeds("sqlite", "crawl.db", query="SELECT sku AS key, price FROM products")
JSONL = StoreNeeds("jsonl", "*.jsonl", key="sku")

# Killed by its own hand in the middle of a second transaction, with a WAL that was never checkpointed.
KILLED_WRITER = """
import os, signal, sqlite3, sys
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute(f"PRAGMA journal_mode={sys.argv[1]}")
db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("CREATE TABLE products (sku TEXT, price TEXT)")
db.execute("INSERT INTO products VALUES ('SKU-1', '1.00')")
db.execute("PRAGMA cache_size=1"); db.execute("PRAGMA cache_spill=1")
db.execute("BEGIN IMMEDIATE")
for i in range(2000):
    db.execute("INSERT INTO products VALUES ('SKU-2', ?)", ("x" * 100,))
os.kill(os.getpid(), signal.SIGKILL)
"""


def read(needs: StoreNeeds, folder: Path, tmp_path: Path) -> Rows | None:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return store.read(needs, folder, scratch)


def fingerprint(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_killed_database_is_read_as_a_restart_would_find_it_and_stays_as_it_is(mode: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED_WRITER, mode], cwd=folder, check=False)
    assert done.returncode == -9
    companions = {path.name for path in folder.iterdir()}
    assert companions >= {"crawl.db", "crawl.db-wal" if mode == "wal" else "crawl.db-journal"}
    before = fingerprint(folder)
    rows = read(SQLITE, folder, tmp_path)
    assert rows is not None
    assert [(one.key, one.values) for one in rows.rows] == [("SKU-1", {"price": "1.00"})]
    assert fingerprint(folder) == before


def test_no_database_and_no_table_are_an_empty_store(tmp_path: Path) -> None:
    assert read(SQLITE, tmp_path, tmp_path) is None
    sqlite3.connect(tmp_path / "crawl.db").close()
    assert read(SQLITE, tmp_path, tmp_path) is None


def test_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "crawl.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match=r"store crawl\.db: file is not a database"):
        read(SQLITE, tmp_path, tmp_path)


def test_text_that_is_no_utf8_spoils_its_own_value_only(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("CREATE TABLE products (sku TEXT, price TEXT)")
        connection.execute("INSERT INTO products VALUES ('A', CAST(x'ff31' AS TEXT)), ('B', '2')")
    connection.close()
    rows = read(SQLITE, tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.values["price"]) for one in rows.rows] == [("A", "\\xff1"), ("B", "2")]


def test_blob_is_a_key_as_it_is_a_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("CREATE TABLE products (sku BLOB, price BLOB)")
        connection.execute("INSERT INTO products VALUES (x'41', x'31'), (x'ff', x'32')")
    connection.close()
    rows = read(SQLITE, tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.values["price"]) for one in rows.rows] == [("A", "1"), ("\\xff", "2")]


def test_deeply_nested_line_is_damage(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"sku":"A"}\n' + "[" * 100_000 + "\n")
    rows = read(JSONL, tmp_path, tmp_path)
    assert rows is not None
    assert (len(rows.rows), len(rows.damage)) == (1, 1)


@pytest.mark.parametrize("query", ["SELECT nothing AS key FROM products", "SELEC 1", "SELECT sku FROM products"])
def test_query_that_cannot_be_answered_is_the_manifests_mistake(query: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("CREATE TABLE products (sku, price)")
    connection.close()
    taken = snapshot.take(StoreNeeds("sqlite", "crawl.db", query=query), tmp_path, tmp_path / "scratch", 0)
    assert taken.is_mistake


def test_query_without_a_key_column_is_said(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("CREATE TABLE products (sku, price)")
    connection.close()
    needs = StoreNeeds("sqlite", "crawl.db", query="SELECT sku, price FROM products")
    with pytest.raises(StoreError, match="the query gives no column `key`, only sku, price"):
        read(needs, tmp_path, tmp_path)


def test_lines_around_a_broken_one_count(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_bytes(b'{"sku":"A","n":1}\n{"sku":"B"\n\n[1]\n{"sku":"\xff"}\n{"x":[1]}\n')
    rows = read(JSONL, tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.place) for one in rows.rows] == [("A", "line 1"), (None, "line 6")]
    assert [text.partition(":")[0] for text in rows.damage] == ["line 2", "line 4", "line 5"]


def test_files_of_a_pattern_are_read_together_and_named(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"sku":"{name}"}}\nbroken\n')
    rows = read(JSONL, tmp_path, tmp_path)
    assert rows is not None
    assert [one.key for one in rows.rows] == ["a", "b"]
    assert rows.damage[0].startswith("a.jsonl line 2: ")


def test_no_file_is_an_empty_store(tmp_path: Path) -> None:
    assert read(JSONL, tmp_path, tmp_path) is None


def test_snapshot_says_what_could_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "crawl.db").write_bytes(b"nonsense" * 200)
    taken = snapshot.take(SQLITE, tmp_path, tmp_path / "scratch", 3)
    assert taken.incarnation == 3
    assert taken.error is not None
    assert not (tmp_path / "scratch").exists()


def stored_and_read(taken: list[Snapshot]) -> list[Snapshot]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.jsonl"
        path.write_bytes(b"".join(map(to_lines, taken)))
        return [replace(one, rows=tuple(one.rows)) for one in from_lines(path)]


@given(st.lists(st.lists(st.tuples(st.none() | st.text(), st.text()), max_size=3), max_size=3))
def test_snapshots_are_stored_and_read_back(contents: list[list[tuple[str | None, str]]]) -> None:
    taken = [
        Snapshot(number, tuple(Row(key, {"title": title}, f"row {i}") for i, (key, title) in enumerate(rows)))
        for number, rows in enumerate(contents)
    ]
    assert stored_and_read(taken) == taken


# Files

PAGE = (
    '<dd><span class="sku">SKU-0000{n}</span></dd> <span class="price">{n}.50</span> '
    '<h1 class="title">Pen &amp; ink</h1>'
)
BY_CONTENT = StoreNeeds(
    "files",
    "pages/*.html",
    key='class="sku">([^<]+)<',
    key_from="content",
    fields={"price": 'class="price">([^<]+)<', "title": 'class="title">([^<]+)<'},
)


def saved_pages(folder: Path, *names: str) -> None:
    (folder / "pages").mkdir()
    for number, name in enumerate(names, 1):
        (folder / "pages" / name).write_text(PAGE.format(n=number))


def test_files_are_rows_with_key_and_fields_from_their_content_unescaped(tmp_path: Path) -> None:
    saved_pages(tmp_path, "1.html", "2.html", "3.html.tmp")
    rows = read(BY_CONTENT, tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.values, one.place) for one in rows.rows] == [
        ("SKU-00001", {"price": "1.50", "title": "Pen & ink"}, "pages/1.html"),
        ("SKU-00002", {"price": "2.50", "title": "Pen & ink"}, "pages/2.html"),
    ]
    assert not rows.in_commit


def test_file_cut_short_is_a_row_without_a_key_or_without_the_value(tmp_path: Path) -> None:
    saved_pages(tmp_path, "1.html", "2.html")
    whole = (tmp_path / "pages/1.html").read_text()
    (tmp_path / "pages/1.html").write_text(whole[:25])
    (tmp_path / "pages/2.html").write_text(PAGE.format(n=2)[:60])
    rows = read(BY_CONTENT, tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.values["price"], one.place) for one in rows.rows] == [
        (None, None, "pages/1.html"),
        ("SKU-00002", None, "pages/2.html"),
    ]
    assert rows.in_commit


def test_key_from_the_path_needs_no_content(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "SKU-00007.json").write_bytes(b"\xff")
    (tmp_path / "deep" / "notes.json").touch()
    rows = read(StoreNeeds("files", "**/*.json", key=r"(SKU-\d+)\.json$"), tmp_path, tmp_path)
    assert rows is not None
    assert [(one.key, one.place) for one in rows.rows] == [
        ("SKU-00007", "deep/SKU-00007.json"),
        (None, "deep/notes.json"),
    ]


def test_no_matching_file_is_an_empty_store_and_reading_changes_nothing(tmp_path: Path) -> None:
    assert read(BY_CONTENT, tmp_path, tmp_path) is None
    saved_pages(tmp_path, "1.html")
    before = fingerprint(tmp_path / "pages")
    read(BY_CONTENT, tmp_path, tmp_path)
    assert fingerprint(tmp_path / "pages") == before


def test_file_name_that_is_no_utf8_still_fits_into_the_evidence(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.html")).touch()
    taken = snapshot.take(StoreNeeds("files", "*.html", key="(.+)"), tmp_path, tmp_path / "scratch", 0)
    assert stored_and_read([taken]) == [taken]
    assert taken.rows[0].place == "\\xff.html"
