"""Scrapy's SitemapSpider on the same shop: robots.txt names the sitemap, the sitemap names the products."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy.http import Response
from scrapy.spiders import SitemapSpider
from spider import ShopSpider


class ShopSitemapSpider(SitemapSpider):
    """Items of all product pages in the sitemap; list pages are never asked for."""

    name = "shop_sitemap"
    sitemap_rules = [("/product/", "parse_product")]  # noqa: RUF012 - Scrapy declares it so
    custom_settings = ShopSpider.custom_settings
    product = ShopSpider.product

    def __init__(self, site_url: str) -> None:
        """`site_url`: the shop's address without a path."""
        super().__init__()
        self.sitemap_urls = [f"{site_url}/robots.txt"]

    def parse_product(self, response: Response) -> Iterator[dict[str, str | None]]:
        """A product page: its item."""
        yield self.product(response)
