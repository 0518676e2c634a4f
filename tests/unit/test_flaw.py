"""One row against its product: what counts as equal, stale, mixed and corrupted."""

import pytest
from evidence_builder import product, row
from killtest.judge.flaw import Flaw, flaw_of
from killtest.judge.truth import Product
from killtest.store.rows import Value

ONE_PAGE = product(1, versions=3)
TWO_PAGES = product(1, versions=3, pages=2)


def detail(of: Product, served: int = 0, version: int = 0, **changes: Value) -> str | None:
    """The words of the flaw of a row of that version with changes."""
    flaw = flaw_of(row(1, version, **changes).values, of, served)
    return None if flaw is None else flaw.detail


@pytest.mark.parametrize("price", ["1.00", "1.000", " 1\n", "1e0", 1, 1.0, "+1.0"])
def test_prices_are_compared_as_decimals(price: Value) -> None:
    assert detail(product(1), price=price) is None


@pytest.mark.parametrize(
    "price",
    [
        "9.50",
        "sNaN",
        "NaN",
        "Infinity",
        "1e9999999999999999999999",
        "-",
        "",
        "1,00",
        True,
        float("nan"),
        "1_.00",
        "0_1.00",
        "１.00",
    ],
)
def test_price_that_is_another_or_no_number_is_corrupted(price: Value) -> None:
    assert str(detail(product(1), price=price)).startswith("price is ")


def test_words_show_the_value_and_what_was_served_and_cut_what_is_long() -> None:
    assert detail(ONE_PAGE, price="9.5") == "price is '9.5', served: '1.00', '1.10', '1.20'"
    assert detail(ONE_PAGE, price=9.5) == "price is 9.5, served: '1.00', '1.10', '1.20'"
    assert detail(product(1), title=None) == "title is None, served: 'Té 1'"
    assert detail(product(1), title="x" * 78) == f"title is '{'x' * 78}', served: 'Té 1'"
    assert detail(product(1), title="x" * 79) == f"title is '{'x' * 79}… (81 characters), served: 'Té 1'"
    assert str(detail(product(1), price=10**5000)).startswith("price is 0x31e2")


def test_text_is_compared_after_nfc_and_trimming() -> None:
    assert detail(product(1), title=" Te\u0301 1\n") is None
    assert detail(product(1), title="té 1") is not None


@pytest.mark.parametrize("field", ["sku", "title", "currency", "availability", "image"])
def test_only_prices_are_numbers(field: str) -> None:
    of = Product("k", ("/product/1",), ({field: "1"},))
    assert flaw_of({field: "1.0"}, of, 0) is not None


def test_missing_and_other_columns_are_not_judged() -> None:
    assert flaw_of({}, ONE_PAGE, 2) is None
    assert flaw_of({}, TWO_PAGES, 2) is None
    assert flaw_of({"colour": "red", "currency": "EUR"}, ONE_PAGE, 0) is None


@pytest.mark.parametrize("of", [ONE_PAGE, TWO_PAGES])
def test_row_is_stale_when_a_newer_version_was_served_in_full(of: Product) -> None:
    assert [detail(of, served=served, version=1) for served in (0, 1)] == [None, None]
    assert detail(of, served=2, version=1) == "version 1 stored, version 2 served"
    assert detail(of, served=2, version=0) == "version 0 stored, version 2 served"
    assert detail(of, served=2, version=2) is None


@pytest.mark.parametrize("of", [ONE_PAGE, TWO_PAGES])
def test_columns_that_no_version_changes_are_of_the_newest(of: Product) -> None:
    assert flaw_of({"sku": "SKU-00001"}, of, 2) is None


def test_mix_of_versions_is_corrupted_on_one_page_and_allowed_on_two() -> None:
    mixed = {"price": "1.10"}
    assert detail(ONE_PAGE, **mixed) == "a mix: sku of version 2, title of version 0, price of version 1"
    assert detail(TWO_PAGES, **mixed) is None
    mix, other = (flaw_of(row(1, price=price).values, ONE_PAGE, 0) for price in ("1.10", "7"))
    assert mix is not None
    assert other is not None
    assert (mix.is_stale, other.is_stale) == (False, False)


def test_field_of_two_pages_that_is_older_than_both_pages_is_stale() -> None:
    assert detail(TWO_PAGES, served=1, version=2, price="1.10") is None
    assert detail(TWO_PAGES, served=1, version=2, price="1.00") == "version 0 stored, version 1 served"
    assert str(detail(TWO_PAGES, served=1, version=2, price="7")).startswith("price is '7'")


def test_gravity_is_the_number_of_wrong_fields_or_of_versions() -> None:
    rows = [row(1, title="?"), row(1, title="?", price="7"), row(1, 1, title="?")]
    assert [flaw.gravity for flaw in (flaw_of(one.values, ONE_PAGE, 0) for one in rows) if flaw] == [1, 2, 1]
    for version in (0, 1, 2, 3):
        stale = flaw_of(row(1, version).values, product(1, versions=5), 4)
        assert stale == Flaw(True, 4 - version, f"version {version} stored, version 4 served")


def test_worse_is_corrupted_before_stale_then_graver_then_by_the_words() -> None:
    ordered = [Flaw(False, 2, "a"), Flaw(False, 1, "a"), Flaw(False, 1, "b"), Flaw(True, 9, "a"), Flaw(True, 1, "a")]
    for place, flaw in enumerate(ordered):
        assert [flaw.is_worse(other) for other in ordered] == [place < other for other in range(len(ordered))]
        assert flaw.is_worse(None)
