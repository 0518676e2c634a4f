"""What init proposes for what it finds in a store folder."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest
from killtest.plan.manifest import StoreNeeds
from killtest.starter.store_guess import columns, guesses

KEYS = frozenset(f"SKU-0000{n}" for n in range(1, 4))


def best(tmp_path: Path) -> StoreNeeds | None:
    found = guesses(tmp_path / "store", tmp_path / "scratch", KEYS)
    assert not (tmp_path / "scratch").exists()
    return found[0] if found else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


def lines(path: Path, *rows: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_file_without_rows_beyond_the_keys_is_the_store(tmp_path: Path, folder: Path) -> None:
    lines(folder / "a-log.jsonl", *[{"sku": key} for key in sorted(KEYS) * 2])
    lines(folder / "b-rows.jsonl", *[{"sku": key} for key in KEYS])
    assert best(tmp_path) == StoreNeeds("jsonl", "b-rows.jsonl", key="sku")


def test_column_called_key_is_found(tmp_path: Path, folder: Path) -> None:
    lines(folder / "out.jsonl", *[{"key": key, "price": "1"} for key in KEYS])
    assert best(tmp_path) == StoreNeeds("jsonl", "out.jsonl", key="key")


def test_documents_of_one_line_each_are_read_as_lines(tmp_path: Path, folder: Path) -> None:
    for key in KEYS:
        lines(folder / f"{key}.json", {"art": key})
    assert best(tmp_path) == StoreNeeds("jsonl", "*.json", key="art")


def test_documents_of_many_lines_are_files_with_the_key_in_their_name(tmp_path: Path, folder: Path) -> None:
    for key in KEYS:
        (folder / f"{key}.json").write_text('{\n "price": "1"\n}')
    assert best(tmp_path) == StoreNeeds("files", "*.json", key=r"([^/]+)\.json$")


def test_pages_are_files_with_the_key_in_their_content(tmp_path: Path, folder: Path) -> None:
    (folder / "p").mkdir()
    for number, key in enumerate(KEYS):
        (folder / "p" / f"{number}.html").write_text(f'<b class="sku">{key}</b><b class="price">1</b>')
    found = best(tmp_path)
    assert found is not None
    assert (found.path, found.key, found.key_from) == ("p/*.html", 'class="sku">([^<]+)<', "content")
    assert "price" in found.fields


def test_two_databases_of_one_name_do_not_get_mixed_up(tmp_path: Path, folder: Path) -> None:
    for place, table in (("a", "logs"), ("b", "items")):
        (folder / place).mkdir()
        with sqlite3.connect(folder / place / "x.db") as connection:
            connection.execute("PRAGMA journal_mode=wal")
            connection.execute(f"CREATE TABLE {table} (sku, price)")
            if place == "b":
                connection.executemany(f"INSERT INTO {table} VALUES (?, '1')", [[key] for key in KEYS])
        connection.close()
    assert best(tmp_path) == StoreNeeds("sqlite", "b/x.db", query="SELECT sku AS key, price FROM items")
    found = columns(StoreNeeds("sqlite", "a/x.db"), folder, tmp_path / "scratch")
    assert found == "logs has sku, price"


def test_damaged_database_and_strange_files_are_no_store(tmp_path: Path, folder: Path) -> None:
    (folder / "x.db").write_bytes(b"SQLite format 3\0" + b"nonsense" * 50)
    (folder / "notes").write_bytes(b"\xff\x00")
    (folder / "empty.jsonl").touch()
    assert best(tmp_path) is None


def test_array_is_read_as_json(tmp_path: Path, folder: Path) -> None:
    rows = [{"sku": key, "price": "1"} for key in KEYS]
    (folder / "out.json").write_text(json.dumps(rows, indent=1))
    assert best(tmp_path) == StoreNeeds("json", "out.json", key="sku")
    (folder / "out.json").write_text(json.dumps(rows))
    assert best(tmp_path) == StoreNeeds("json", "out.json", key="sku")


def test_documents_of_many_lines_with_the_key_are_read_as_json(tmp_path: Path, folder: Path) -> None:
    for number, key in enumerate(KEYS):
        (folder / f"{number}.json").write_text(json.dumps({"art": key}, indent=1))
    assert best(tmp_path) == StoreNeeds("json", "*.json", key="art")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_table_is_found_with_its_delimiter(delimiter: str, tmp_path: Path, folder: Path) -> None:
    table = "".join(f"x{delimiter}{key}\n" for key in ["sku", *sorted(KEYS)])
    (folder / "out.csv").write_text(table)
    assert best(tmp_path) == StoreNeeds("csv", "out.csv", key="sku", delimiter=delimiter)


def test_table_without_a_header_is_not_proposed_as_one(tmp_path: Path, folder: Path) -> None:
    (folder / "out.csv").write_text("".join(f"{key},1\n" for key in sorted(KEYS)))
    found = best(tmp_path)
    assert found is None or found.reader != "csv"


def test_zipped_files_are_read_by_what_is_in_them(tmp_path: Path, folder: Path) -> None:
    for number, key in enumerate(sorted(KEYS)):
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(json.dumps({"sku": key}).encode()))
        (folder / f"{number}.log.gz").write_bytes(gzip.compress(b"nothing"))
    assert best(tmp_path) == StoreNeeds("jsonl", "*.jsonl.gz", key="sku")


def test_columns_of_a_table_are_named(tmp_path: Path, folder: Path) -> None:
    (folder / "out.csv").write_text("art;price\nx;1\n")
    needs = StoreNeeds("csv", "out.csv", key="key", delimiter=";")
    assert columns(needs, folder, tmp_path / "scratch") == "art, price"
