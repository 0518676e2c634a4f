"""Scrapy's own scheduler on JOBDIRs, without a network: what tests/process/test_jobdir_resume.py compares with.

It answers each line of standard input with a line of JSON; the words of a line are parted by tabs:

    write QUEUE FOLDER     queue some requests, take some out, and close cleanly
    resume QUEUE FOLDER    open it and take out all there is: what opening raised, what it gave, what came behind it
    push QUEUE FOLDER      the same, after two new requests of the site a.test were queued
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.utils.test import get_crawler

TRIES = 5


class Shop(Spider):
    """A spider with the two callbacks that the queued requests name."""

    name = "shop"

    def parse(self, response: Any) -> None:
        """Never called."""

    def product(self, response: Any) -> None:
        """Never called."""


def scheduler(queue: str, folder: str) -> Scheduler:
    """A scheduler as a crawl makes it, with a downloader that downloads nothing."""
    settings = {"JOBDIR": folder, "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.{queue}"}
    crawler = get_crawler(Shop, settings)
    crawler.spider = crawler._create_spider()
    slots = SimpleNamespace(slots={}, get_slot_key=lambda request: request.url.split("/")[2])
    crawler.engine = SimpleNamespace(downloader=slots)  # type: ignore[assignment]
    return Scheduler.from_crawler(crawler)


def write(queue: str, folder: str) -> dict[str, Any]:
    """Two sites, three priorities, a start request; some are taken out again."""
    opened = scheduler(queue, folder)
    opened.open(opened.crawler.spider)  # type: ignore[union-attr, arg-type]
    start = Request("http://a.test/start", meta={"is_start_request": True}, dont_filter=True)
    for request in (start, *requests()):
        assert opened.enqueue_request(request)
    for _ in range(3):
        assert opened.next_request() is not None
    opened.close("shutdown")
    return {}


def requests() -> Iterable[Request]:
    """Those that are queued, with and without callback, headers and meta."""
    spider = Shop()
    for number in range(4):
        yield Request(f"http://a.test/{number}", callback=spider.product, headers={"Referer": "http://a.test/"})
        yield Request(f"http://b.test/{number}?q=ü", priority=number % 2, meta={"depth": number})


def resume(queue: str, folder: str) -> dict[str, Any]:
    """What a resume gets out of that folder when the spider adds nothing."""
    return drained(queue, folder, [])


def push(queue: str, folder: str) -> dict[str, Any]:
    """What it gets when the spider adds two requests."""
    return drained(queue, folder, [Request(f"http://a.test/new{number}") for number in (1, 2)])


def drained(queue: str, folder: str, new: list[Request]) -> dict[str, Any]:
    """Open the folder, queue `new`, and take out all there is."""
    told: dict[str, Any] = {"opening": "", "pushing": [], "urls": [], "errors": 0, "left": 0, "known": 0, "memory": 0}
    try:
        opened = scheduler(queue, folder)
        opened.open(opened.crawler.spider)  # type: ignore[union-attr, arg-type]
    except Exception as error:
        return told | {"opening": name_of(error)}
    for request in new:
        try:
            opened.enqueue_request(request)
        except Exception as error:
            told["pushing"].append(name_of(error))
    told["memory"] = len(opened.mqs)
    tries = 0
    while len(opened) and tries < TRIES:
        tries += 1
        try:
            taken = opened.next_request()
        except Exception:
            told["errors"] += 1
            continue
        if taken is not None:
            told["urls"].append(taken.url)
            tries = 0
    return told | {"left": len(opened), "known": len(opened.df._fingerprints)}  # type: ignore[attr-defined]


def name_of(error: Exception) -> str:
    """The name of an exception without its module."""
    return type(error).__name__


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        what, queue, folder = line.rstrip("\n").split("\t")
        print(json.dumps({"write": write, "resume": resume, "push": push}[what](queue, folder)), flush=True)


if __name__ == "__main__":
    main()
