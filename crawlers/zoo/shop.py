"""What the zoo's crawlers share: how a page is fetched and read, and how a point of their own is announced.

Nothing in here is a planted bug. Standard library only, so that each animal is a program that anybody can run.
"""

from __future__ import annotations

import html
import json
import os
import re
import socket
import urllib.request

SITE = os.environ["KILLTEST_SITE_URL"]
INCARNATION = int(os.environ.get("KILLTEST_INCARNATION", "0"))
FIELDS = ("sku", "title", "price", "currency", "availability")


def get(path: str) -> str:
    """The page at `path`, as text; urllib.error.URLError when it can't be had."""
    with urllib.request.urlopen(SITE + path, timeout=60) as answer:
        return answer.read().decode()


def post(path: str, message: dict[str, str], key: str = "") -> None:
    """Send a message, with an Idempotency-Key where there is one; urllib.error.URLError when it is not taken."""
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    body = json.dumps(message).encode()
    with urllib.request.urlopen(urllib.request.Request(SITE + path, body, headers), timeout=60) as answer:
        answer.read()


def links(page: str) -> list[str]:
    """The paths that a page links to, in its order."""
    return re.findall(r'href="(/[^"]*)"', page)


def picture_path(page: str) -> str:
    """The path of the picture that a product page shows."""
    return re.search('<img class="image" src="([^"]*)"', page)[1]


def row(page: str) -> dict[str, str]:
    """What a product page says, by field name."""
    return {name: html.unescape(re.search(f'class="{name}">([^<]*)<', page)[1]) for name in FIELDS}


def is_product(path: str) -> bool:
    """True for the page of a product, false for a list page."""
    return path.startswith("/product/")


def mark(name: str) -> None:
    """Announce a point of one's own and wait until the harness lets us go on; nothing when nobody listens."""
    path = os.environ.get("KILLTEST_MARK")
    if path:
        with socket.socket(socket.AF_UNIX) as harness:
            harness.connect(path)
            harness.sendall(f"{name}\n".encode())
            harness.recv(1)
