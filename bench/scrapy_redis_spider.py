"""What bench/reload_throughput.py compares with: a spider on scrapy-redis that crawls the shop in its two-page shape.

    redis-cli LPUSH shop:start_urls '{"url": "http://127.0.0.1:8000/list/0"}'
    REDIS_URL=redis://127.0.0.1:6379/0 scrapy runspider scrapy_redis_spider.py

Its queue and its filter of duplicates are in Redis, its records in crawl.db in the working directory: the table, the
columns and the durability of crawlers/reload_queue, a commit for each record. It ends when nothing came for a second.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Any, ClassVar

from scrapy import Request
from scrapy.http import TextResponse
from scrapy_redis.spiders import RedisSpider

CONCURRENCY = 24
JOB = "scrapy-1"
TABLE = """
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, sku TEXT NOT NULL, title TEXT NOT NULL,
    price TEXT NOT NULL, currency TEXT NOT NULL, availability TEXT NOT NULL, url TEXT NOT NULL,
    revision INTEGER NOT NULL, UNIQUE (job, sku)
)
"""
UPSERT = """
INSERT INTO record (job, sku, title, price, currency, availability, url, revision)
VALUES (:job, :sku, :title, :price, :currency, :availability, :url, :revision)
ON CONFLICT (job, sku) DO UPDATE SET title = excluded.title, price = excluded.price, currency = excluded.currency,
    availability = excluded.availability, url = excluded.url, revision = excluded.revision
"""


class RecordPipeline:
    """Stores each record as it comes."""

    def open_spider(self) -> None:
        """Open the database, and create its table if need be."""
        self.db = sqlite3.connect("crawl.db", timeout=30, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(TABLE)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """One record, one commit."""
        self.db.execute(UPSERT, item)
        return item

    def close_spider(self) -> None:
        """Close the database."""
        self.db.close()


class ShopSpider(RedisSpider):
    """Lists link products; a product's page gives the title, the page behind it the rest."""

    name = "shop"
    max_idle_time = 1
    custom_settings: ClassVar[dict[str, Any]] = {
        "REDIS_URL": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"),
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "ITEM_PIPELINES": {RecordPipeline: 300},
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        # What Scrapy's documentation advises for speed.
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }

    def parse(self, response: TextResponse) -> Iterator[Request]:
        """A list page."""
        for href in response.css("ul.products a::attr(href)").getall():
            yield response.follow(href, self.parse_product)
        for href in response.css("a.next::attr(href)").getall():
            yield response.follow(href, self.parse)

    def parse_product(self, response: TextResponse) -> Iterator[Request]:
        """The first page of a product."""
        title = response.css(".title::text").get()
        for href in response.css("a.view::attr(href)").getall():
            yield response.follow(href, self.parse_view, cb_kwargs={"title": title})

    def parse_view(self, response: TextResponse, title: str) -> Iterator[dict[str, Any]]:
        """The second page of a product, which completes its record."""
        shown = {name: response.css(f".{name}::text").get() for name in ("sku", "price", "currency", "availability")}
        yield {"job": JOB, "title": title, "url": response.url, "revision": 0, **shown}
