"""What bench/jobdir_scale.py runs: fills Scrapy's scheduler from one callback, or opens what that left behind.

    scrapy runspider jobdir_scale_spider.py -a requests=100000 -a within_s=25 -s JOBDIR=job    (fills it, stops cleanly)
    scrapy runspider jobdir_scale_spider.py -s JOBDIR=job                 (opens it, stops at the first request from it)

Writes what it saw as one JSON object to record.json in the working directory. Moments are seconds of CLOCK_MONOTONIC.
No page is ever fetched: the start page is a `data:` URL, and what comes out of the queue is answered on the spot.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self

import scrapy
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response, TextResponse

Record = dict[str, Any]


class WatchedScheduler(Scheduler):
    """The default scheduler, which notes when it began to load, was open, last took and first gave out a request."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Loading begins here: the filter of duplicates reads requests.seen."""
        began_s = time.monotonic()
        scheduler = super().from_crawler(crawler)
        scheduler.record = {"loading_s": began_s}
        return scheduler

    def open(self, spider: Spider) -> Any:
        """The queues are opened, and are ready."""
        opening = super().open(spider)
        assert opening is None, "the default filter of duplicates opens at once"
        self.record |= {"opened_s": time.monotonic(), "loaded": len(self), "opened_rss_bytes": rss_bytes()}
        spider.record = self.record
        return None

    def enqueue_request(self, request: Request) -> bool:
        """A request is put where requests wait."""
        is_new = super().enqueue_request(request)
        self.record |= {"filled_s": time.monotonic()}
        return bool(is_new)

    def next_request(self) -> Request | None:
        """The engine asks for a request."""
        request = super().next_request()
        if request is not None:
            self.record.setdefault("dequeued_s", time.monotonic())
        return request

    def close(self, reason: str) -> Any:
        """All that was to come is in the queues, which are closed now."""
        self.record |= {"filled_cpu_s": time.process_time(), "filled_rss_bytes": rss_bytes()}
        return super().close(reason)


class NoNetwork:
    """Answers what would be fetched with an empty page."""

    def process_request(self, request: Request) -> Response | None:
        """An answer in place of the download; the start page is let through, which asks nobody either."""
        return None if request.url.startswith("data:") else TextResponse(request.url, request=request)


class ScaleSpider(scrapy.Spider):
    """Fills the scheduler with so many `requests`, or as many as it takes within `within_s` seconds.

    With 0 it takes the first one out and stops.
    """

    name = "scale"
    custom_settings = {  # noqa: RUF012 - Scrapy declares it so
        "SCHEDULER": WatchedScheduler,
        "DOWNLOADER_MIDDLEWARES": {NoNetwork: 950},
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,  # it would open a port
    }

    def __init__(self, requests: str = "0", within_s: str = "inf") -> None:
        """Numbers as Scrapy hands over what -a says."""
        super().__init__()
        self.requests, self.within_s = int(requests), float(within_s)
        self.record: Record = {}

    async def start(self) -> AsyncIterator[Request]:
        """One page to come from; none when what is there is opened."""
        if self.requests:
            yield Request("data:,start", self.fill, dont_filter=True)

    def fill(self, _: Response) -> Iterator[Request]:
        """Enqueue all requests while the engine takes none out, then stop."""
        assert self.crawler.engine is not None
        self.crawler.engine.pause()
        began_s, number = time.monotonic(), 0
        self.record |= {"filling_s": began_s, "before_cpu_s": time.process_time(), "before_rss_bytes": rss_bytes()}
        while number < self.requests and (not number or time.monotonic() - began_s < self.within_s):
            number += 1
            yield Request(f"http://127.0.0.1:8000/product/{number}")
        self.record |= {"made": number}
        raise CloseSpider("filled")

    def parse(self, _: Response) -> None:
        """A request has come out: enough."""
        raise CloseSpider("opened")

    def closed(self, reason: str) -> None:
        """The queues are closed: what is on disk is complete."""
        assert self.crawler.stats is not None
        self.record |= {"reason": reason, "enqueued": self.crawler.stats.get_value("scheduler/enqueued", 0)}
        Path("record.json").write_text(json.dumps(self.record), "utf-8")


def rss_bytes() -> int:
    """The memory that this process has in use, as /proc counts it."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
