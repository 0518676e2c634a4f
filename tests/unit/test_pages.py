"""The pages as HTML: what a regular expression of a crawler finds in them, and where."""

from __future__ import annotations

import re

from killtest_testsite import pages
from killtest_testsite.catalogue import Catalogue, Product
from killtest_testsite.layout import Layout, NextPlace

SKUS = [(1, "SKU-00001"), (2, "SKU-00002")]
PRODUCT = Product(7, 0, "SKU-00007", '<Tiny> "ü" & co', "19.99", "EUR", "in stock")


def hrefs(html: str) -> list[str]:
    return re.findall(r'href="([^"]+)"', html)


def listed(place: NextPlace, number: int = 0) -> list[str]:
    return hrefs(pages.list_page(Layout(500, 25, next_place=place), number, SKUS))


def test_the_next_link_stands_last_or_first() -> None:
    assert listed("last") == ["/product/1", "/product/2", "/list/1"]
    assert listed("first") == ["/list/1", "/product/1", "/product/2"]


def test_the_last_list_page_has_no_next_link() -> None:
    assert listed("last", 24) == ["/product/1", "/product/2"]


def test_the_next_link_is_marked_as_such() -> None:
    html = pages.list_page(Layout(500, 25), 0, SKUS)
    assert '<a rel="next" class="next" href="/list/1">' in html


def test_a_product_page_has_what_the_articles_crawler_looks_for() -> None:
    html = pages.product_page(Layout(500, 25), PRODUCT)
    assert re.findall(r'class="(?:sku|price|currency|availability)">([^<]*)<', html) == [
        *("SKU-00007", "19.99", "EUR", "in stock")
    ]
    assert '<img class="image" src="/image/7"' in html
    assert hrefs(html) == []


def test_text_is_escaped() -> None:
    html = pages.product_page(Layout(500, 25), PRODUCT)
    assert '<h1 class="title">&lt;Tiny&gt; &quot;ü&quot; &amp; co</h1>' in html
    assert "<Tiny>" not in html


def test_in_two_pages_the_view_carries_what_the_product_page_lacks() -> None:
    html = pages.product_page(Layout(500, 25, "two_page"), PRODUCT)
    assert hrefs(html) == ["/view/7"]
    assert "19.99" not in html
    assert "SKU-00007" in html
    view = pages.view_page(PRODUCT)
    assert all(text in view for text in ("SKU-00007", "19.99", "EUR", "in stock"))
    assert hrefs(view) == []


def test_in_a_chain_each_product_links_the_next() -> None:
    layout = Layout(8, 1, "chain")
    assert hrefs(pages.product_page(layout, PRODUCT)) == ["/product/8"]
    assert hrefs(pages.product_page(layout, Catalogue(1, 8).product(8))) == []


def test_pages_are_real_html() -> None:
    for html in (pages.list_page(Layout(), 0, SKUS), pages.product_page(Layout(), PRODUCT)):
        assert html.startswith('<!doctype html>\n<html lang="en">')
        assert html.endswith("</html>\n")
        assert html.count("<title>") == 1
