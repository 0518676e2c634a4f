"""The stock: versions on show, and the truth."""

from __future__ import annotations

from hashlib import sha256

import pytest
from killtest_testsite.catalogue import Catalogue
from killtest_testsite.layout import Layout
from killtest_testsite.stock import Stock


def stock() -> Stock:
    return Stock(Catalogue(1, 7), Layout(7, 3, "two_page"))


@pytest.mark.parametrize("path", ["/product/7", "/view/7", "/image/7"])
def test_a_bump_moves_the_product_and_its_picture_on(path: str) -> None:
    shelf = stock()
    title, picture = shelf.product(7).title, shelf.image(7)
    assert [shelf.bump(path), shelf.bump(path)] == [1, 2]
    assert shelf.product(7).title != title
    assert shelf.image(7) != picture
    assert shelf.version(6) == 0


def test_a_bump_of_a_page_without_a_product_is_refused() -> None:
    with pytest.raises(ValueError, match="/list/0 shows no product: bump a path such as /product/1"):
        stock().bump("/list/0")


def test_the_truth_lists_every_version_shown_the_first_one_first() -> None:
    shelf = stock()
    shelf.bump("/product/2")
    rows = list(shelf.truth())
    assert [row["key"] for row in rows] == [f"SKU-0000{n}" for n in range(1, 8)]
    assert [len(row["versions"]) for row in rows] == [1, 2, 1, 1, 1, 1, 1]
    newest = rows[1]["versions"][-1]
    assert newest["title"] == shelf.product(2).title
    assert rows[1]["pages"] == ["/product/2", "/view/2"]
    assert (newest["image"], newest["image_sha256"]) == ("/image/2", sha256(shelf.image(2)).hexdigest())
