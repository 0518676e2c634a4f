"""Scrapy with JOBDIR, as its documentation describes it, and a pipeline that upserts into SQLite.

    scrapy runspider spider.py -a site_url=SITE_URL -s JOBDIR=job        (writes crawl.db and job/)

Scrapy 2.19's defaults are kept. With JOBDIR they are: pending requests in
`scrapy.squeues.PickleLifoDiskQueue` (so the newest link comes first), start requests in
`scrapy.squeues.PickleFifoDiskQueue`, both inside `scrapy.pqueues.DownloaderAwarePriorityQueue`;
fingerprints of seen requests in `requests.seen`; 16 requests at a time, 8 per domain; robots.txt is not
asked for; three tries for a page that answers with an error. Requests being downloaded are in no file. The
documentation promises resumption for a crawl that was stopped cleanly, and no more.

SIGINT and SIGTERM stop it cleanly (exit 0, once what is in flight has been answered); a second one at once.

Variants of the manifest change settings (`-s`) and these arguments (`-a`), each off unless given:

    own_start=1            the start page by the spider's own start(), not exempt from the duplicate filter
    keep_state=1           pages counted and listed in self.state, which JOBDIR keeps in spider.state
    lock=1                 a lock in the meta of each product's request, which can't be pickled
    hosts=4                products asked for at 127.0.0.1 to 127.0.0.4 in turn: four downloader slots
    product_priority=-1    the priority of products' requests; list pages have 0
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import Request, Response

FIELDS = ("sku", "title", "price", "currency", "availability")
SCHEMA = """CREATE TABLE IF NOT EXISTS products (
    sku TEXT PRIMARY KEY, title TEXT, price TEXT, currency TEXT, availability TEXT, url TEXT)"""
UPSERT_SQL = "INSERT OR REPLACE INTO products VALUES (:sku, :title, :price, :currency, :availability, :url)"


class SqlitePipeline:
    """One row per SKU, committed per item: a second visit overwrites the first."""

    def open_spider(self) -> None:
        """Open the store in the working directory."""
        self.db = sqlite3.connect("crawl.db", timeout=30)
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
    own_start = lock = keep_state = ""
    hosts = product_priority = "0"
    product_callback = "parse_product"
    custom_settings = {  # noqa: RUF012 - Scrapy declares it so
        "ITEM_PIPELINES": {SqlitePipeline: 300},
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,  # it would open a port
    }

    def __init__(self, site_url: str, **arguments: str) -> None:
        """`site_url`: the shop's address without a path; the arguments stand above."""
        super().__init__(**arguments)
        self.start_urls = [f"{site_url}/list/0"]

    async def start(self) -> AsyncIterator[Request]:
        """Scrapy's own start requests, which are sent at every start; or one that is filtered once it was seen."""
        if self.own_start:
            yield Request(self.start_urls[0])
        else:
            async for request in super().start():
                yield request

    def parse(self, response: Response) -> Iterator[Request]:
        """A list page, or the next product of a chain: whatever it links to."""
        for href in response.css(".products a::attr(href), a.next::attr(href)").getall():
            is_product = "/product/" in href
            yield self.product_request(response, href) if is_product else response.follow(href)

    def parse_product(self, response: Response) -> Iterator[Request | dict[str, str | None]]:
        """A product page: its item, and in a chain the next product."""
        self.count(response)
        yield self.product(response)
        yield from self.parse(response)

    def product_request(self, response: Response, href: str) -> Request:
        """The request for a product page, as the arguments want it."""
        url, hosts = response.urljoin(href), int(self.hosts)
        if hosts:
            parts = urlsplit(url)
            number = int(parts.path.rsplit("/", 1)[1])
            url = parts._replace(netloc=f"127.0.0.{1 + number % hosts}:{parts.port}").geturl()
        meta: dict[str, Any] = {"lock": threading.Lock()} if self.lock else {}
        callback = getattr(self, self.product_callback)
        return Request(url, callback=callback, priority=int(self.product_priority), meta=meta)

    def count(self, response: Response) -> None:
        """Note a product page in the state that outlives a clean stop."""
        if self.keep_state:
            self.state["count"] = self.state.get("count", 0) + 1
            self.state.setdefault("urls", []).append(response.url)

    def product(self, response: Response) -> dict[str, str | None]:
        """The item; a field that the page does not show is None."""
        item = {name: response.css(f".{name}::text").get("").strip() or None for name in FIELDS}
        return {**item, "url": response.url}
