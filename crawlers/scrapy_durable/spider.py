"""Scrapy with `durable.py` in place of its own scheduler, and a pipeline that upserts into SQLite.

    scrapy runspider spider.py -a site_url=SITE_URL -s JOBDIR=job        (writes crawl.db and job/requests.db)

All else is as Scrapy 2.19 has it: 16 requests at a time, 8 per domain; the newest link comes first; robots.txt is
not asked for; three tries for a page that answers with an error. SIGINT and SIGTERM stop it cleanly (exit 0, once
what is in flight has been answered); a second one at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from urllib.parse import urlsplit

import scrapy
from durable import DurablePages, DurableScheduler
from scrapy.http import Request, Response

FIELDS = ("sku", "title", "price", "currency", "availability")
SCHEMA = """CREATE TABLE IF NOT EXISTS products (
    sku TEXT PRIMARY KEY, title TEXT, price TEXT, currency TEXT, availability TEXT, url TEXT)"""
UPSERT_SQL = "INSERT OR REPLACE INTO products VALUES (:sku, :title, :price, :currency, :availability, :url)"


class SqlitePipeline:
    """One row per SKU, committed before `process_item` returns: a second visit overwrites the first."""

    def open_spider(self) -> None:
        """Open the store in the working directory."""
        self.db = sqlite3.connect("crawl.db")
        self.db.execute(SCHEMA)

    def process_item(self, item: dict[str, str | None]) -> dict[str, str | None]:
        """Store one product."""
        with self.db:  # commits
            self.db.execute(UPSERT_SQL, item)
        return item

    def close_spider(self) -> None:
        """Close the store at the end of the crawl."""
        self.db.close()


class ShopSpider(scrapy.Spider):
    """Follows products and next pages in the order of the page and yields an item per product page."""

    name = "shop"
    custom_settings = {  # noqa: RUF012 - Scrapy declares it so
        "ITEM_PIPELINES": {SqlitePipeline: 300},
        "LOG_LEVEL": "INFO",
        "SCHEDULER": DurableScheduler,
        "SPIDER_MIDDLEWARES": {DurablePages: 1},
        "TELNETCONSOLE_ENABLED": False,  # it would open a port
    }

    def __init__(self, site_url: str) -> None:
        """`site_url`: the shop's address without a path."""
        super().__init__()
        self.start_urls = [f"{site_url}/list/0"]

    def parse(self, response: Response) -> Iterator[Request | dict[str, str | None]]:
        """Any page: its product, if it is one, and the pages that it links to."""
        if urlsplit(response.url).path.startswith("/product/"):
            yield self.product(response)
        for href in response.css(".products a::attr(href), a.next::attr(href)").getall():
            yield response.follow(href)

    def product(self, response: Response) -> dict[str, str | None]:
        """The item; a field that the page does not show is None."""
        item = {name: response.css(f".{name}::text").get("").strip() or None for name in FIELDS}
        return {**item, "url": response.url}
