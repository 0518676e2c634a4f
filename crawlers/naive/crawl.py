"""The common first version of a crawler: start at page one, follow the pagination, store every product.

    python crawl.py SITE_URL        (writes crawl.db in the working directory)

It commits as it goes and loses nothing that it has stored, but it remembers nothing either: started again
after an interruption, it begins at page one and stores again what is there already. This is the naive crawler
of the article 设计幂等爬虫:中断后重启而不重复 (Shifter), and kept that way on purpose: no frontier, no
natural key, no retry. It knows shops with list pages only, and any error ends it with a traceback (exit 1).
"""

from __future__ import annotations

import sqlite3
import sys
from urllib.parse import urljoin

import requests
from selectolax.lexbor import LexborHTMLParser

FIELDS = ("sku", "title", "price", "currency", "availability")
# An id that counts up says nothing about the product: the second copy of a product just gets the next one.
SCHEMA = """CREATE TABLE IF NOT EXISTS products (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT, sku TEXT, title TEXT, price TEXT, currency TEXT, availability TEXT)"""
INSERT_SQL = """INSERT INTO products (url, sku, title, price, currency, availability)
    VALUES (:url, :sku, :title, :price, :currency, :availability)"""


def crawl(session: requests.Session, db: sqlite3.Connection, site_url: str) -> None:
    """Walk the list pages from the first to the last and store each product as it comes."""
    url: str | None = f"{site_url}/list/0"
    while url:
        page = fetch(session, url)
        for product_url in links(page, url, ".products a"):
            with db:  # commits
                db.execute(INSERT_SQL, product(fetch(session, product_url), product_url))
        url = next(iter(links(page, url, "a.next")), None)


def fetch(session: requests.Session, url: str) -> LexborHTMLParser:
    """Get and parse one page; raises requests.RequestException for anything but a good answer."""
    response = session.get(url, timeout=30)
    response.raise_for_status()
    return LexborHTMLParser(response.text)


def links(page: LexborHTMLParser, url: str, selector: str) -> list[str]:
    """Absolute URLs of the links that a CSS selector finds, in the page's order."""
    return [urljoin(url, a.attributes["href"] or "") for a in page.css(selector)]


def product(page: LexborHTMLParser, url: str) -> dict[str, str]:
    """What the product page says, by field name; IndexError if it does not say all of it."""
    return {"url": url, **{name: page.css(f".{name}")[0].text().strip() for name in FIELDS}}


if __name__ == "__main__":
    database = sqlite3.connect("crawl.db")
    database.execute(SCHEMA)
    crawl(requests.Session(), database, sys.argv[1])
