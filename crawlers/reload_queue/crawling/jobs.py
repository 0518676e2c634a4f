"""Submitting jobs and retrying them: for commands and views alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawling import spider_book
from crawling.page_address import is_page
from crawling.task_queue import TaskQueue

JOB_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


class BadJob(ValueError):
    """The job cannot be submitted; the text says why and what would do."""


class UnknownSpider(BadJob):
    """There is no spider of that name."""


@dataclass(frozen=True)
class NewJob:
    """A job to be submitted. Without an `id` it gets one; `nonce` is the same when one submission is repeated."""

    url: str
    spider: str
    nonce: str
    id: str = ""

    def check(self) -> None:
        """Raises BadJob or UnknownSpider."""
        if self.spider not in (known := spider_book.names()):
            raise UnknownSpider(f"unknown spider {self.spider!r}; known: {', '.join(known)}")
        if not is_page(self.url):
            raise BadJob(f"{self.url!r} is no URL of a page; it looks like http://shop.example/list/0")
        if self.id and not JOB_ID.fullmatch(self.id):
            raise BadJob(
                f"{self.id!r} is no job id: up to 100 letters, digits, dashes, underscores, and dots but not first"
            )


def submit(queue: TaskQueue, job: NewJob) -> tuple[str, bool]:
    """Queue a job; its id, and whether it is new (False: a job of that id exists, and nothing was changed).

    Raises BadJob, or redis.RedisError: then repeat it with the same nonce.
    """
    job.check()
    return queue.submit(job.nonce, job.spider, job.url, job.id)
