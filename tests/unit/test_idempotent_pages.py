"""What the idempotent crawler makes of links, headers, pages and records, without a network."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "crawlers" / "idempotent"
URL = "http://shop/product/7"
ALL_FIELDS = ("sku", "title", "price", "currency", "availability")


def load(name: str) -> ModuleType:
    """A module of the crawler by its path: the crawlers are no package and not on the import path."""
    spec = importlib.util.spec_from_file_location(f"idempotent_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


shop, records = load("shop"), load("records")


def page(*fields: str, more: str = "") -> bytes:
    """A page that shows these fields, each with its own name as the text."""
    return ("".join(f'<b class="{name}"> {name} &amp; é </b>' for name in fields) + more).encode()


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/list/2", "http://shop/list/2"),
        ("8", "http://shop/product/8"),
        ("/view/7?utm_source=x#top", "http://shop/view/7"),
        ("http://elsewhere/list/2", None),
        ("/image/7", None),
        ("/", None),
        ("mailto:shop@example.org", None),
    ],
)
def test_a_link_has_one_spelling_and_leads_to_a_page_of_the_shop(href: str, url: str | None) -> None:
    assert shop.canonical(URL, href) == url


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        (None, 0),
        ("120", 120),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200),
        ("Thu, 01 Jan 1970 00:20:00 -0000", 200),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("-5", 0),
        ("soon", 0),
        ("", 0),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, wait_s: float) -> None:
    assert shop.retry_after_s(header, 1000.0) == wait_s


def test_a_product_page_gives_decoded_text_and_the_address_of_its_image() -> None:
    found = shop.parse(URL, page(*ALL_FIELDS, more='<img class="image" src="/image/7"><a href="/list/0">'))
    assert found.product == {name: f"{name} & é" for name in ALL_FIELDS} | {"image_url": "http://shop/image/7"}
    assert found.links == ("http://shop/list/0",)


@pytest.mark.parametrize(
    ("url", "html", "missing"),
    [
        (URL, page("sku", "title", "currency"), "availability, price"),
        (URL, page("title", more='<a href="/view/7">'), "sku"),
        ("http://shop/view/7", page("sku", "price", "currency"), "availability"),
        (URL, page("sku", "price", "currency", "availability", more='<b class="title"> </b>'), "title"),
    ],
)
def test_a_field_that_is_missing_or_empty_is_an_error(url: str, html: bytes, missing: str) -> None:
    with pytest.raises(shop.PageError, match=f"does not parse: no {missing}$"):
        shop.parse(url, html)


def test_a_product_of_two_pages_needs_only_its_part_on_each() -> None:
    first = shop.parse(URL, page("sku", "title", more='<a href="/view/7">'))
    second = shop.parse("http://shop/view/7", page("sku", "price", "currency", "availability"))
    assert {**first.product, **second.product}.keys() == set(ALL_FIELDS)


@pytest.fixture
def db() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(records.SCHEMA)
    return connection


def times(db: sqlite3.Connection) -> list[tuple[str, float, float]]:
    return db.execute("SELECT natural_key, first_seen, last_changed FROM records").fetchall()


def test_an_unchanged_record_is_not_touched_and_a_changed_one_keeps_first_seen(
    db: sqlite3.Connection,
) -> None:
    assert records.upsert(db, "shop", "SKU-1", {"price": "1", "title": "é"}, 10.0)
    assert not records.upsert(db, "shop", "SKU-1", {"title": "é", "price": "1"}, 20.0)
    assert times(db) == [("SKU-1", 10.0, 10.0)]
    assert records.upsert(db, "shop", "SKU-1", {"price": "2"}, 30.0)
    assert times(db) == [("SKU-1", 10.0, 30.0)]
    assert db.execute("SELECT data FROM records").fetchone() == ('{"price": "2", "title": "é"}',)


def test_the_same_key_from_another_source_is_another_record(db: sqlite3.Connection) -> None:
    records.upsert(db, "shop", "SKU-1", {"price": "1"}, 10.0)
    records.upsert(db, "other", "SKU-1", {"price": "1"}, 10.0)
    assert len(times(db)) == 2
    assert records.record_id("a", "bc") != records.record_id("ab", "c")
