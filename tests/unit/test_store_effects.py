"""What is read of effects, from each kind of store; manifests that declare them, and what is refused."""

import json
import re
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from killtest.errors import QueryError, UsageError
from killtest.plan import manifest
from killtest.plan.effects import CaptureNeeds, CounterNeeds, EffectNeeds, FileNeeds, WebhookNeeds
from killtest.plan.manifest import StoreNeeds
from killtest.store import effects, snapshot
from killtest.store.effects import Capture, StoredEffects, StoredFile

GOOD = """
name = "mine"
command = ["{python}", "crawl.py"]
[store]
reader = "jsonl"
path = "out.jsonl"
key = "sku"
"""
PAGE = "<html>Größe</html>"


def read(tmp_path: Path, **needs: object) -> StoredEffects:
    scratch = tmp_path.parent / f"{tmp_path.name}-scratch"
    scratch.mkdir(exist_ok=True)
    found = effects.read(EffectNeeds(**needs), tmp_path, scratch)  # type: ignore[arg-type]
    assert found is not None
    assert list((scratch / "effects").iterdir() if (scratch / "effects").exists() else ()) == []
    return found


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def database(tmp_path: Path, *statements: str) -> None:
    connection = sqlite3.connect(tmp_path / "crawl.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_files_are_known_by_path_digest_and_the_key_in_their_name(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "SKU-00007.bmp").write_bytes(b"BM")
    (tmp_path / "images" / "x.tmp").write_bytes(b"")
    found = StoredFile("images/SKU-00007.bmp", 2, digest("BM"))
    assert read(tmp_path, files=FileNeeds("images/*.bmp")).files == (found,)
    keyed = read(tmp_path, files=FileNeeds("images/*.bmp", key=r"images/(SKU-\d+)\.bmp"))
    assert [one.key for one in keyed.files] == ["SKU-00007"]
    assert [one.key for one in read(tmp_path, files=FileNeeds("images/*", key=r"(SKU-\d+)")).files] == [
        "SKU-00007",
        None,
    ]


def test_counters_of_a_database_and_of_a_json_file(tmp_path: Path) -> None:
    asked = CounterNeeds("sqlite", "crawl.db", "SELECT name AS counter, value FROM counters;")
    assert read(tmp_path, counters=asked).counters == {}
    database(tmp_path, "CREATE TABLE counters (name, value)", "INSERT INTO counters VALUES ('rows', 7), ('a=b', 2)")
    assert read(tmp_path, counters=asked).counters == {"rows": 7, "a=b": 2}
    told = CounterNeeds("json", "counters.json")
    assert read(tmp_path, counters=told).counters == {}
    (tmp_path / "counters.json").write_text('{"rows": 7, "a=b": "2"}')
    assert read(tmp_path, counters=told).counters == {"rows": 7, "a=b": "2"}


@pytest.mark.parametrize("text", ["", '{"rows": ', "[1]", '{"rows": {}}'])
def test_counters_that_cannot_be_read_are_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "counters.json").write_text(text)
    found = read(tmp_path, counters=CounterNeeds("json", "counters.json"))
    assert "counters counters.json: no object of counters" in found.unreadable["counters"]


def test_a_question_that_is_wrong_is_the_manifests_mistake(tmp_path: Path) -> None:
    database(tmp_path, "CREATE TABLE counters (name, value)")
    asked = CounterNeeds("sqlite", "crawl.db", "SELECT nme AS counter, value FROM counters")
    with pytest.raises(QueryError, match="no such column: nme"):
        read(tmp_path, counters=asked)
    (tmp_path / "out.jsonl").write_text('{"sku": "SKU-1"}\n')
    taken = snapshot.take(
        StoreNeeds("jsonl", "out.jsonl", key="sku"), tmp_path, tmp_path / "s", 0, others=EffectNeeds(counters=asked)
    )
    assert taken.is_mistake


@pytest.mark.parametrize(
    "needs",
    [
        {"counters": CounterNeeds("sqlite", "crawl.db", "SELECT name, value FROM counters")},
        {"counters": CounterNeeds("sqlite", "crawl.db", "SELECT name AS counter FROM counters")},
        {"captures": CaptureNeeds("sqlite", "crawl.db", "SELECT name AS address, value AS body FROM counters")},
    ],
)
def test_a_column_that_the_query_does_not_give_is_the_manifests_mistake(
    needs: dict[str, object], tmp_path: Path
) -> None:
    # SQLite takes "counter" in double quotes for a text where there is no such column.
    database(tmp_path, "CREATE TABLE counters (name, value)", "INSERT INTO counters VALUES ('rows', 7)")
    with pytest.raises(QueryError, match="no such column"):
        read(tmp_path, **needs)


def test_a_query_may_end_with_a_comment(tmp_path: Path) -> None:
    database(tmp_path, "CREATE TABLE counters (name, value)", "INSERT INTO counters VALUES ('rows', 7)")
    asked = CounterNeeds("sqlite", "crawl.db", "SELECT name AS counter, value FROM counters -- all of them")
    assert read(tmp_path, counters=asked).counters == {"rows": 7}


def test_a_capture_whose_url_is_none_has_no_path(tmp_path: Path) -> None:
    (tmp_path / "captures.jsonl").write_text(json.dumps({"url": "http://[::1/product/7", "body": PAGE}) + "\n")
    found = read(tmp_path, captures=CaptureNeeds("jsonl", "captures.jsonl"))
    assert found.captures == (Capture("line 1", None, digest(PAGE)),)


def test_captures_of_lines_and_of_a_database(tmp_path: Path) -> None:
    line = json.dumps({"at": "http://127.0.0.1:1/product/7?x=1", "text": PAGE})
    (tmp_path / "captures.jsonl").write_text(line + "\n" + line[:40])
    found = read(tmp_path, captures=CaptureNeeds("jsonl", "captures.jsonl", url="at", body="text"))
    assert found.captures == (Capture("line 1", "/product/7", digest(PAGE)),)
    assert [place.partition(":")[0] for place in found.torn] == ["line 2"]
    database(
        tmp_path, "CREATE TABLE pages (url, body)", f"INSERT INTO pages VALUES ('/list/0', '{PAGE}'), ('/x', NULL)"
    )
    asked = CaptureNeeds("sqlite", "crawl.db", "SELECT url, body FROM pages")
    assert read(tmp_path, captures=asked).captures == (
        Capture("row 1", "/list/0", digest(PAGE)),
        Capture("row 2", "/x", None),
    )


def test_a_snapshot_with_effects_is_read_back_from_its_line(tmp_path: Path) -> None:
    (tmp_path / "counters.json").write_text('{"rows": 1}')
    needs = EffectNeeds(counters=CounterNeeds("json", "counters.json"))
    store = StoreNeeds("jsonl", "out.jsonl", key="sku")
    taken = snapshot.take(store, tmp_path, tmp_path / "scratch", 3, others=needs)
    assert (taken.exists, taken.effects) == (False, StoredEffects(counters={"rows": 1}))
    (tmp_path / "snapshot.jsonl").write_bytes(snapshot.to_lines(taken))
    assert snapshot.from_lines(tmp_path / "snapshot.jsonl")[0].effects == taken.effects
    assert snapshot.take(store, tmp_path, tmp_path / "scratch", 3).effects is None


def loaded(tmp_path: Path, text: str) -> manifest.Subject:
    (tmp_path / "subject.toml").write_text(GOOD + text)
    return manifest.load(tmp_path / "subject.toml")


def test_a_manifest_declares_effects(tmp_path: Path) -> None:
    text = """
    effects.files = { path = "images/*.bmp", key = '(SKU-.+)\\.bmp' }
    [variants.all.effects]
    webhooks = { key = "sku" }
    counters = { reader = "json", path = "c.json" }
    captures = { reader = "jsonl", path = "captures.jsonl" }
    """
    text = text.replace("    effects.files", "    [effects]\n    files", 1)
    assert loaded(tmp_path, text).effects.kinds == ("files",)
    who = manifest.load(tmp_path / "subject.toml", "all")
    assert who.effects.webhooks == WebhookNeeds("sku")
    assert who.effects.kinds == ("files", "webhooks", "counters", "captures")
    assert loaded(tmp_path, "").effects.kinds == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('files = { path = "/images" }', "[effects.files] path '/images' must lie below the store folder"),
        ('files = { path = "../x" }', "[effects.files] path '../x' must lie below the store folder"),
        ('files = { path = "images/**.bmp" }', "[effects.files] path 'images/**.bmp' is no pattern for files: Invalid"),
        ('files = { path = "." }', "[effects.files] path '.' is no pattern for files: "),
        ('files = { path = "x", key = "(" }', "[effects.files] key '(' is no regular expression: "),
        ('files = { path = "x", key = "x" }', "[effects.files] key 'x' has 0 groups; it wants one: the key"),
        ('webhooks = { key = "" }', "[effects.webhooks] wants `key`, which column of the body is the natural key"),
        ('counters = { reader = "csv", path = "x" }', "reader 'csv' is unknown; built: sqlite, postgres, json"),
        ('counters = { reader = "sqlite", path = "x" }', "[effects.counters] reader sqlite wants a `query`"),
        ('counters = { reader = "json", path = "x", query = "y" }', "[effects.counters] reader json takes no `query`"),
        ('captures = { reader = "jsonl" }', "[effects.captures] path '' must lie below the store folder"),
        (
            'captures = { reader = "postgres", query = "x" }',
            '[effects.captures] in postgres is in the service: services = ["postgres"]',
        ),
        (
            'captures = { reader = "postgres", query = "x", path = "y" }',
            "[effects.captures] reader postgres takes no `path`",
        ),
        ('pictures = { path = "x" }', "pictures"),
    ],
)
def test_mistakes_are_named_with_the_file(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)) as raised:
        loaded(tmp_path, f"[effects]\n{text}\n")
    assert "subject.toml" in str(raised.value)


def test_effects_and_groups_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="effects can't be judged where the rows are there for each of several groups"):
        loaded(tmp_path, 'group = "job"\ngroups = 2\n[effects.webhooks]\nkey = "sku"\n')
