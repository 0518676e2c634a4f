"""The published figures of the article 设计幂等爬虫:中断后重启而不重复 (Shifter; kill test run 2026-10-02).

Its experiment: a local site with 25 list pages and 500 products, so that a full crawl is 525 requests; each
trial kills the crawler with SIGKILL ten times, at random moments 0.2 to 1 s apart from its start, then lets
it finish; the same moments for both crawlers; a lease of 3 s for the idempotent one.
"""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "设计幂等爬虫:中断后重启而不重复"
PRODUCTS = 500
MINIMUM_REQUESTS = 525
KILLS_PER_TRIAL = 10
NAIVE_WALL_S = (9.2, 10.8)
IDEMPOTENT_WALL_S = (6.8, 8.3)


@dataclass(frozen=True)
class PublishedTrial:
    """One line of the article's table: rows stored and page requests made by both crawlers in one trial."""

    number: int
    naive_rows: int
    naive_requests: int
    idempotent_rows: int
    idempotent_requests: int


TRIALS = (
    PublishedTrial(1, 2165, 2283, 500, 525),
    PublishedTrial(2, 1875, 1977, 500, 526),
    PublishedTrial(3, 1862, 1967, 500, 526),
    PublishedTrial(4, 1455, 1538, 500, 526),
    PublishedTrial(5, 1286, 1361, 500, 528),
)


def published_trial(number: int) -> PublishedTrial | None:
    """The article's trial of that number, counted from 1; None when it published no such trial."""
    return next((trial for trial in TRIALS if trial.number == number), None)
