"""The shop: lists link to products; a product is on one page, or its price and stock are on a second one."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin

from crawling.page import Follow, Page, Row
from selectolax.lexbor import LexborHTMLParser

REVISION = 0


def parse(page: Page) -> Iterator[Row | Follow]:
    """The row of a product and the pages that a page leads to."""
    tree = LexborHTMLParser(page.html)
    yield from (Follow(urljoin(page.url, href)) for href in hrefs(tree, "a[href^='/product/'], a.next"))
    if not (sku := text(tree, ".sku")):
        return  # a list
    title = page.meta.get("title") or text(tree, ".title")
    if price := text(tree, ".price"):
        yield Row(sku, title, price, text(tree, ".currency"), text(tree, ".availability"), page.url)
        return
    views = hrefs(tree, "a.view")
    if not views:  # a page cut short often still parses: what is missing is an error, never an empty field
        raise ValueError(f"{page.url} shows neither a price nor a link to one")
    yield from (Follow(urljoin(page.url, href), {"title": title}) for href in views)


def hrefs(tree: LexborHTMLParser, selector: str) -> list[str]:
    """Where the links of a selector lead, in the page's order."""
    return [str(node.attributes["href"]) for node in tree.css(selector)]


def text(tree: LexborHTMLParser, selector: str) -> str:
    """The text of the first element of a selector; empty if there is none."""
    node = tree.css_first(selector)
    return node.text().strip() if node else ""
