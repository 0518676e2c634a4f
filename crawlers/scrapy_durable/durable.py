"""Scrapy's queue and what it has seen, in one SQLite table: `kill -9` loses nothing. See docs/durable-scrapy.md."""

import pickle
import sqlite3

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

OPEN = """PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, key BLOB UNIQUE, state INT, priority INT, request BLOB);
CREATE INDEX IF NOT EXISTS waiting ON requests (priority, id) WHERE state = 0;
UPDATE requests SET state = 0 WHERE state = 1"""  # 0: waits, 1: taken by this process, 2: done
ADD = "INSERT OR IGNORE INTO requests (state, priority, request, key) VALUES (0, ?, ?, ?)"
TAKE = """UPDATE requests SET state = 1 WHERE id = (
SELECT id FROM requests WHERE state = 0 ORDER BY priority DESC, id DESC LIMIT 1) RETURNING id, request"""
DONE = "UPDATE requests SET state = 2, request = NULL WHERE id = ?"
ROW = "_durable_row"  # in the meta of a taken request; the retries and redirects that Scrapy makes of it inherit it


class DurableScheduler(BaseScheduler):
    """Hands out requests from the table: of the highest priority the newest. Only `settle` says that one is done."""

    def open(self, spider):
        """Open the table; what an earlier process had taken waits again."""
        self.spider, self.db = spider, sqlite3.connect(job_dir(spider.settings) + "/requests.db", isolation_level=None)
        self.db.executescript(OPEN)
        spider.crawler.signals.connect(self.item_error, signals.item_error)

    def close(self, reason):
        """Close the table."""
        self.db.close()

    def has_pending_requests(self):
        """Tell whether a request waits; the engine knows of those that are taken."""
        return self.db.execute("SELECT 1 FROM requests WHERE state = 0").fetchone() is not None

    def next_request(self):
        """Take a request."""
        for row, pickled in self.db.execute(TAKE).fetchall():
            request = request_from_dict(pickle.loads(pickled), spider=self.spider)
            request.meta[ROW] = row
            return request
        return None

    def enqueue_request(self, request):
        """Add a request; one without dont_filter, or of `Spider.start`, only once."""
        row = 0 if self.db.in_transaction else request.meta.get(ROW)  # 0: from a page, where meta may be a copy
        once = not request.dont_filter or (row is None and "is_start_request" in request.meta)
        key = self.spider.crawler.request_fingerprinter.fingerprint(request) if once else None
        new = self.db.execute(ADD, (request.priority, pickle.dumps(request.to_dict(spider=self.spider)), key)).rowcount
        self.db.execute(DONE, [row])  # a retry or redirect stands for its predecessor now
        return new > 0

    def settle(self, row, requests):
        """Add a page's requests and mark it as done (no row: leave it pending) in one transaction."""
        with self.db:
            self.db.execute("BEGIN")
            for request in requests:
                self.spider.crawler.engine.crawl(request)
            self.db.execute(DONE, [row])

    def item_error(self, response):
        """Note that an item was not stored."""
        getattr(response, "flags", []).append("item_error")


class DurablePages(BaseSpiderMiddleware):
    """The spider middleware nearest to the engine: uses up what a page gives, then settles the page."""

    async def process_spider_output_async(self, response, result, spider=None):
        """Send the items through the pipelines first; requests and mark come last."""
        requests, done, failures = [], False, map(int, self.crawler.settings.getlist("RETRY_HTTP_CODES"))
        try:
            async for each in result:
                if isinstance(each, Request):
                    requests.append(each)
                elif each is not None:
                    await self.crawler.engine.scraper.start_itemproc_async(each, response=response)
            done = response.status not in failures and "item_error" not in response.flags
        finally:  # what a callback has asked for before it failed is sent all the same
            self.crawler.engine.scheduler.settle(response.meta.get(ROW) if done else None, requests)
        yield None  # nothing is left for the engine
