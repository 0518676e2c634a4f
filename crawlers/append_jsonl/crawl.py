"""What most small scripts do: walk the shop and append a line of JSON per product to a file.

    python crawl.py SITE_URL        (appends to out.jsonl in the working directory)

Each line is flushed as it is written, so a kill loses no finished product. But the file is the only thing
that outlives the process and nobody reads it: a restart begins at page one and appends everything again. It
knows shops with list pages only, and any error ends it with a traceback (exit 1).
"""

from __future__ import annotations

import json
import sys
from typing import TextIO
from urllib.parse import urljoin

import requests
from selectolax.lexbor import LexborHTMLParser

FIELDS = ("sku", "title", "price", "currency", "availability")


def crawl(session: requests.Session, out: TextIO, site_url: str) -> None:
    """Walk the list pages from the first to the last and append each product as it comes."""
    url: str | None = f"{site_url}/list/0"
    while url:
        page = fetch(session, url)
        for product_url in links(page, url, ".products a"):
            line = json.dumps(product(fetch(session, product_url), product_url), ensure_ascii=False)
            out.write(line + "\n")
            out.flush()  # to the kernel, which keeps it when the process dies; not to the disk
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
    with open("out.jsonl", "a", encoding="utf-8") as file:
        crawl(requests.Session(), file, sys.argv[1])
