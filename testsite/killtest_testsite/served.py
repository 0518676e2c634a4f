"""What the shop serves, byte for byte: its pages as HTML, and what the judge needs to know a page or picture again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from zlib import compress

from . import pages
from .image import image
from .stock import Stock


def html(stock: Stock, path: str, version: int | None = None) -> str | None:
    """The HTML of the page at a path, in the version that is served now or another; None where there is none."""
    layout = stock.layout
    page = layout.page(path)
    if page is None:
        return None
    if page.kind == "list":
        skus = [(number, stock.catalogue.key(number)) for number in layout.on_list(page.number)]
        return pages.list_page(layout, page.number, skus)
    version = stock.version(page.number) if version is None else version
    product = stock.catalogue.product(page.number, version)
    return pages.product_page(layout, product) if page.kind == "product" else pages.view_page(product)


def lists(stock: Stock) -> dict[str, str]:
    """The SHA-256 of each list page, by its path; list pages have one version."""
    return {path: _digest(stock, path, 0) for path in (f"/list/{n}" for n in range(stock.layout.lists))}


def with_effects(stock: Stock) -> Iterator[dict[str, Any]]:
    """The rows of the truth, each with its pages and its picture as they were served in every version.

    `page_sha256` are the digests of the pages by path; `pictures` the bytes of the picture, zlib and then base64:
    with them a file that was cut off can be told from one that was never served.
    """
    for number, row in enumerate(stock.truth(), 1):
        versions = range(len(row["versions"]))
        row["page_sha256"] = [{path: _digest(stock, path, version) for path in row["pages"]} for version in versions]
        row["pictures"] = [_packed(image(stock.catalogue.seed, number, version)) for version in versions]
        yield row


def _digest(stock: Stock, path: str, version: int) -> str:
    text = html(stock, path, version)
    assert text is not None, path
    return sha256(text.encode()).hexdigest()


def _packed(picture: bytes) -> str:
    return b64encode(compress(picture, 9)).decode()
