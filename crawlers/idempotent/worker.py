"""The loop: lease a page, fetch it, store it; retry what fails; wait for what is still out."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import effects
import requests
from effects import Effects, Found
from frontier import Frontier, Lease, LeaseLost
from records import upsert
from shop import Page, PageError, fetch

SOURCE = "killtest-shop"  # a name, not an address: an id must outlive a move of the server
LOOK_AGAIN_S = 0.1  # the longest sleep: another process may have added links meanwhile
SHORTEST_SLEEP_S = 0.005  # what is due may be in another's hands just now


def work(
    frontier: Frontier,
    session: requests.Session,
    say: Callable[[str], None],
    keep: Callable[[Lease], AbstractContextManager[object]] = nullcontext,
    beyond: Effects = effects.NONE,
) -> int:
    """Crawl until every known page is done or failed; the number of pages this process completed.

    `say` gets a line for each page that did not go well. What `keep` makes of a lease is entered while its page is
    worked on: a heartbeat, where somebody else could take the page from a slow fetch. `beyond` is what is to be done
    beyond the records.

    Nothing due is not the end: a page that another process holds, or held when it died, may still come back
    and bring new links. The article's first version stopped there and left a page undone.
    """
    completed = 0
    while (wait_s := frontier.wait_s()) is not None:
        lease = frontier.lease()
        if lease is None:
            time.sleep(min(max(wait_s, SHORTEST_SLEEP_S), LOOK_AGAIN_S))
            continue
        try:
            with keep(lease):
                completed += work_on(frontier, session, lease, say, beyond)
        except LeaseLost as error:  # its new holder does the page; nothing of ours was stored
            say(f"not stored: {error}")
    return completed


def work_on(
    frontier: Frontier, session: requests.Session, lease: Lease, say: Callable[[str], None], beyond: Effects
) -> bool:
    """Fetch one page and store it with its links and its "done"; False if that has to be tried again."""
    try:
        links, save = beyond.errand(frontier, session, lease) or visit(frontier, session, lease, beyond)
    except PageError as error:
        say(f"{give_back(frontier, lease, error)}: {lease.url}: {error}")
        return False
    frontier.complete(lease, links, save)
    return True


def visit(frontier: Frontier, session: requests.Session, lease: Lease, beyond: Effects) -> Found:
    """Fetch one page: its links, and what stores it."""
    now_s = frontier.clock()
    page = fetch(session, lease.url, now_s, lease.attempts, lambda body: beyond.fetched(lease.url, now_s, body))
    return page.links, lambda db: store(db, page, frontier.clock(), beyond)


def store(db: sqlite3.Connection, page: Page, now_s: float, beyond: Effects) -> None:
    """Write the page's product, if it is one, in the caller's transaction."""
    if page.product:
        upsert(db, SOURCE, page.product["sku"], page.product, now_s)
        beyond.stored(db, SOURCE, page.product, now_s)


def give_back(frontier: Frontier, lease: Lease, error: PageError) -> str:
    """Retry later, or give the page up: at once when it is gone, else after the last attempt. Says which."""
    if error.gone:
        frontier.fail(lease, str(error))
        return "given up"
    return "to be retried" if frontier.retry(lease, str(error), error.retry_after_s) else "given up"
