"""The layout: sizes, shapes, links and paths, without a server."""

from __future__ import annotations

import pytest
from killtest_testsite.layout import NEXT_PLACES, SHAPES, Layout, NextPlace, Page, Shape


@pytest.mark.parametrize(("products", "list_pages"), [(500, 25), (30, 3), (7, 3), (1, 1), (1000, 7)])
def test_products_are_spread_evenly_each_on_one_list_page(products: int, list_pages: int) -> None:
    layout = Layout(products, list_pages)
    pages = [layout.on_list(number) for number in range(list_pages)]
    assert [n for page in pages for n in page] == list(range(1, products + 1))
    assert max(map(len, pages)) - min(map(len, pages)) <= 1


@pytest.mark.parametrize(("shape", "minimum"), [("pages", 525), ("star", 501), ("chain", 501), ("two_page", 1025)])
def test_minimum_counts_every_page_once(shape: Shape, minimum: int) -> None:
    assert Layout(500, 25, shape).minimum == minimum


@pytest.mark.parametrize("path", ["/list/0", "/list/2", "/product/1", "/product/7"])
def test_canonical_paths_are_pages(path: str) -> None:
    _, kind, number = path.split("/")
    page = Layout(7, 3).page(path)
    assert page is not None
    assert (page.kind, page.number) == (kind, int(number))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/list/3",
        "/list/-1",
        "/product/0",
        "/product/8",
        "/product/07",
        "/product/7/",
        "/view/1",
        "/x/1",
        "/product/7\n",
        "/product/٣",
        "/image/1",
        "/robots.txt",
        "/product/" + "9" * 5000,
        "",
    ],
)
def test_other_paths_are_not_pages(path: str) -> None:
    assert Layout(7, 3).page(path) is None


@pytest.mark.parametrize("shape", ["star", "chain"])
def test_star_and_chain_have_one_list_page(shape: Shape) -> None:
    layout = Layout(7, 3, shape)
    assert layout.page("/list/1") is None
    assert list(layout.on_list(0)) == ([1] if shape == "chain" else list(range(1, 8)))
    assert layout.next_list(0) is None


def test_views_exist_in_the_shape_two_page_alone() -> None:
    assert Layout(7, 3, "two_page").page("/view/7") == Page("view", 7)
    assert Layout(7, 3, "two_page").pages_of(7) == ["/product/7", "/view/7"]
    assert Layout(7, 3).pages_of(7) == ["/product/7"]


def test_pictured_knows_which_product_a_path_shows() -> None:
    layout = Layout(7, 3, "two_page")
    assert [layout.pictured(f"/{kind}/7") for kind in ("product", "view", "image")] == [7, 7, 7]
    assert [layout.pictured(path) for path in ("/list/0", "/image/8", "/image/0", "/")] == [None] * 4


@pytest.mark.parametrize(
    ("products", "list_pages", "word"), [(0, 1, "--products 0"), (5, 0, "--list-pages 0"), (3, 4, "empty")]
)
def test_sizes_that_make_no_shop_are_refused(products: int, list_pages: int, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Layout(products, list_pages)


def test_the_choices_are_those_of_the_contract() -> None:
    shapes: tuple[Shape, ...] = ("pages", "star", "chain", "two_page")
    places: tuple[NextPlace, ...] = ("first", "last")
    assert (shapes, places) == (SHAPES, NEXT_PLACES)
