"""Traps for a reader: databases killed in every journal mode, and things in the place of a store that are none."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from killtest import store
from killtest.errors import StoreError
from killtest.plan.manifest import StoreNeeds
from killtest.store import snapshot
from killtest.store.rows import Rows
from killtest.store.snapshot import Snapshot, from_lines, to_lines

SQLITE = StoreNeeds("sqlite", "crawl.db", query="SELECT sku AS key FROM products")

# Ends by its own hand after the steps it is told: a word `begin` or `commit`, or how many rows to insert.
WRITER = """
import os, signal, sqlite3, sys
mode, *steps = sys.argv[1:]
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute(f"PRAGMA journal_mode={mode}")
db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("PRAGMA cache_size=1")
db.execute("PRAGMA cache_spill=1")
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, price TEXT)")
n = db.execute("SELECT count(*) FROM products").fetchone()[0]
for step in steps:
    if not step.isdigit():
        db.execute(step)
        continue
    for _ in range(int(step)):
        n += 1
        db.execute("INSERT INTO products VALUES (?, ?)", (f"SKU-{n * 7919 % 100003:05}", "x" * 200))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


def killed(folder: Path, mode: str, *steps: str) -> None:
    done = subprocess.run([sys.executable, "-c", WRITER, mode, *steps], cwd=folder, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr


def take(needs: StoreNeeds, folder: Path) -> Snapshot:
    return snapshot.take(needs, folder, folder.parent / "scratch", 0)


def fingerprint(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("mode", "companions"),
    [
        ("delete", {"-journal"}),
        ("persist", {"-journal"}),
        ("truncate", {"-journal"}),
        ("wal", {"-wal", "-shm"}),
    ],
)
def test_database_killed_in_a_transaction_reads_as_a_restart_finds_it(
    mode: str, companions: set[str], folder: Path
) -> None:
    killed(folder, mode, "3", "begin", "500")
    assert {path.name for path in folder.iterdir()} == {"crawl.db"} | {f"crawl.db{one}" for one in companions}
    before = fingerprint(folder)
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.damage, taken.in_commit) == (3, (), True)
    assert fingerprint(folder) == before


@pytest.mark.parametrize("mode", ["delete", "persist", "truncate", "wal"])
def test_database_killed_between_transactions_is_in_none(mode: str, folder: Path) -> None:
    killed(folder, mode, "3", "begin", "50", "commit")
    before = fingerprint(folder)
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.in_commit) == (53, False)
    assert fingerprint(folder) == before


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_transaction_that_has_written_nothing_yet_leaves_the_store_whole(mode: str, folder: Path) -> None:
    killed(folder, mode, "3", "begin", "1")
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.in_commit) == (3, False)


def test_pages_left_in_the_wal_by_an_earlier_kill_are_no_open_transaction(folder: Path) -> None:
    killed(folder, "wal", "3", "begin", "500")
    killed(folder, "wal", "1")  # a short commit over the first of the pages that the kill left
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.in_commit) == (4, False)
    killed(folder, "wal", "1", "begin", "500")
    assert take(SQLITE, folder).in_commit


def test_wal_begun_anew_does_not_count_the_frames_of_its_last_round(folder: Path) -> None:
    killed(folder, "wal", "3", "begin", "500", "rollback", "pragma wal_checkpoint(RESTART)", "1")
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.in_commit) == (4, False)


def test_wal_that_ends_between_a_frames_header_and_its_page_is_in_a_commit(folder: Path) -> None:
    killed(folder, "wal", "3")
    wal = folder / "crawl.db-wal"
    data = wal.read_bytes()
    step = 24 + int.from_bytes(data[8:12], "big")
    assert not take(SQLITE, folder).in_commit
    wal.write_bytes(data + data[-step : -step + 24])  # that of a commit, even
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.in_commit) == (3, True)


def test_main_file_alone_would_read_wrongly(folder: Path, tmp_path: Path) -> None:
    killed(folder, "wal", "3")
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "crawl.db").write_bytes((folder / "crawl.db").read_bytes())
    assert not take(SQLITE, alone).exists
    assert len(take(SQLITE, folder).rows) == 3


def test_linked_database_is_read_with_the_wal_beside_its_target(folder: Path, tmp_path: Path) -> None:
    killed(folder, "wal", "3", "begin", "500")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "crawl.db").symlink_to(folder / "crawl.db")
    taken = take(SQLITE, tmp_path / "links")
    assert (len(taken.rows), taken.in_commit) == (3, True)


@pytest.mark.parametrize("more", ["50", "500"])
def test_database_without_a_journal_is_damaged_by_a_kill_and_that_is_said(more: str, folder: Path) -> None:
    killed(folder, "off", "begin", "1000", "commit", "begin", more)
    before = fingerprint(folder)
    taken = take(SQLITE, folder)
    assert taken.error or len(taken.damage) == 1
    assert fingerprint(folder) == before


@pytest.mark.parametrize("cut", [100, 4096, 5000])
def test_database_cut_short_is_damaged_or_unreadable(cut: int, folder: Path) -> None:
    killed(folder, "delete", "100")
    data = (folder / "crawl.db").read_bytes()
    (folder / "crawl.db").write_bytes(data[:cut])
    taken = take(SQLITE, folder)
    assert taken.error or taken.damage


def test_sound_database_has_no_damage_and_an_empty_wal_changes_nothing(folder: Path) -> None:
    killed(folder, "delete", "100")
    (folder / "crawl.db-wal").touch()
    (folder / "crawl.db-journal").touch()
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.damage, taken.in_commit) == (100, (), False)


@pytest.mark.parametrize("rubbish", [b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x82" + bytes(100), b"rubbish" * 100])
def test_wal_that_is_none_is_no_open_transaction(rubbish: bytes, folder: Path) -> None:
    killed(folder, "delete", "1")
    (folder / "crawl.db-wal").write_bytes(rubbish)
    assert not take(SQLITE, folder).in_commit


def test_database_with_a_collation_of_its_own_is_not_called_damaged(folder: Path) -> None:
    with sqlite3.connect(folder / "crawl.db") as connection:
        connection.create_collation("own", lambda one, other: (one > other) - (one < other))
        connection.execute("CREATE TABLE products (sku TEXT COLLATE own PRIMARY KEY)")
        connection.execute("INSERT INTO products VALUES ('A')")
    connection.close()
    taken = take(SQLITE, folder)
    assert (len(taken.rows), taken.damage) == (1, ())


# What stands in a store's place

TEXTS = [
    StoreNeeds("jsonl", "out", key="sku"),
    StoreNeeds("json", "out", key="sku"),
    StoreNeeds("csv", "out", key="sku"),
    StoreNeeds("jsonl", "out.gz", key="sku"),
    StoreNeeds("json", "out.gz", key="sku"),
    StoreNeeds("csv", "out.gz", key="sku"),
]
ANY_TEXT = pytest.mark.parametrize("needs", TEXTS, ids=lambda needs: f"{needs.reader}-{needs.path}")


@ANY_TEXT
def test_empty_file_is_a_store_without_rows(needs: StoreNeeds, folder: Path) -> None:
    (folder / needs.path).touch()
    taken = take(needs, folder)
    assert (taken.exists, taken.rows, taken.damage, taken.error) == (True, (), (), None)


def test_empty_database_has_no_table_yet(folder: Path) -> None:
    (folder / "crawl.db").touch()
    assert not take(SQLITE, folder).exists


def test_folder_in_place_of_a_database_cannot_be_read(folder: Path) -> None:
    (folder / "crawl.db").mkdir()
    taken = take(SQLITE, folder)
    assert taken.error is not None
    assert "crawl.db" in taken.error


@ANY_TEXT
def test_folder_or_dead_link_in_place_of_a_text_is_no_store(needs: StoreNeeds, folder: Path) -> None:
    (folder / needs.path).mkdir()
    assert not take(needs, folder).exists
    (folder / needs.path).rmdir()
    (folder / needs.path).symlink_to(folder / "nowhere")
    assert not take(needs, folder).exists


def test_linked_text_is_read(folder: Path) -> None:
    (folder / "real").write_text('{"sku": "A"}\n')
    (folder / "out").symlink_to("real")
    assert [row.key for row in take(TEXTS[0], folder).rows] == ["A"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("needs", [*TEXTS, SQLITE], ids=lambda needs: f"{needs.reader}-{needs.path}")
def test_file_that_may_not_be_read_is_an_error_of_the_store(needs: StoreNeeds, folder: Path) -> None:
    (folder / needs.path).write_text("x")
    (folder / needs.path).chmod(0)
    with pytest.raises(StoreError, match=needs.path):
        store.read(needs, folder, folder)


def test_unreadable_file_is_an_error_of_the_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    (folder / "out").touch()
    monkeypatch.setattr(Path, "read_bytes", refused)
    for needs in TEXTS[:3]:
        with pytest.raises(StoreError, match="Permission denied"):
            store.read(needs, folder, folder)


def test_snapshot_keeps_that_it_was_in_a_commit(tmp_path: Path) -> None:
    taken = Snapshot(2, damage=("line 7: half",), in_commit=True)
    (tmp_path / "snapshot.jsonl").write_bytes(to_lines(taken))
    (kept,) = from_lines(tmp_path / "snapshot.jsonl")
    assert (kept.in_commit, kept.damage, list(kept.rows)) == (True, taken.damage, [])
    assert Rows().in_commit is False
