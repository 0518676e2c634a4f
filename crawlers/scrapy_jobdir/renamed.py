"""The spider after a change of its code: the callback of product pages has another name.

Requests that wait in a JOBDIR's queue name the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from scrapy.http import Request, Response
from spider import ShopSpider


class RenamedSpider(ShopSpider):
    """ShopSpider with `parse_item` where it had `parse_product`."""

    product_callback = "parse_item"

    def parse_item(self, response: Response) -> Iterator[Request | dict[str, str | None]]:
        """A product page, as it was."""
        self.count(response)
        yield self.product(response)
        yield from self.parse(response)

    @property
    def parse_product(self) -> NoReturn:
        """As if it had never been defined."""
        raise AttributeError("parse_product is called parse_item now")
