"""What is specific to the shop: how a page is fetched, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit, urlunsplit

import requests
from selectolax.lexbor import LexborHTMLParser

GONE = (404, 410)  # the server says there is no such page: asking again is pointless
TIMEOUT_S = 10  # to connect, and between two pieces of the answer
REFUSED = frozenset(range(400, 500)) - {408, 409, 425, 429}  # what a server says of a message that it will never take
PAGE_PATH = re.compile(r"/(list|product|view)/\d+")
PICTURE_PATH = re.compile(r"/image/\d+")
FIELDS = ("sku", "title", "price", "currency", "availability")
MOVED = (301, 308)  # for good, says the server; any other redirect leads elsewhere for now only
BELIEVED_AFTER = 2  # a page that leads elsewhere for the third time does so for good, whatever the server calls it


class PageError(Exception):
    """The page could not be had or did not make sense; the text says why, for the frontier's `reason`."""

    def __init__(self, reason: str, *, gone: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.gone = gone
        self.retry_after_s = retry_after_s  # what the server asked for; 0 if it did not


@dataclass(frozen=True)
class Page:
    """`links`: absolute URLs of further pages, in order. `product`: its fields by name, if it is one."""

    links: tuple[str, ...]
    product: dict[str, str] | None


def fetch(
    session: requests.Session,
    url: str,
    now_s: float,
    attempts: int = 0,
    fetched: Callable[[str], object] = lambda _: None,
) -> Page:
    """Get and read one page, after so many failed `attempts`. Raises PageError for whatever goes wrong on the way.

    `fetched` is given the text of the page before anything is made of it. Another page in the place of this one, for
    now, is no answer: who took it for one would never see this one.
    """
    response = get(session, url, now_s)
    if attempts < BELIEVED_AFTER and response.url != url and leads_elsewhere(response):
        raise PageError(f"leads to {response.url} for now")
    fetched(response.text)
    return parse(response.url, response.content)


def get(session: requests.Session, url: str, now_s: float) -> requests.Response:
    """Get what is at a URL, all of it. Raises PageError, also for an answer cut short."""
    try:
        response = session.get(url, timeout=TIMEOUT_S)
    except requests.RequestException as error:
        raise PageError(f"{type(error).__name__}: {error}") from error
    if response.status_code != 200:
        raise _failure(response, now_s, GONE)
    return response


def post(session: requests.Session, url: str, now_s: float, data: bytes, headers: Mapping[str, str]) -> None:
    """Send a message. Raises PageError when it was not taken; a redirect is no taking: it would lose the body."""
    try:
        response = session.post(url, data=data, headers=headers, timeout=TIMEOUT_S, allow_redirects=False)
    except requests.RequestException as error:
        raise PageError(f"{type(error).__name__}: {error}") from error
    if not 200 <= response.status_code < 300:
        raise _failure(response, now_s, REFUSED)


def leads_elsewhere(response: requests.Response) -> bool:
    """Whether a redirect on the way was not said to be for good."""
    return any(hop.status_code not in MOVED for hop in response.history)


def parse(url: str, html: bytes) -> Page:
    """Read a page; PageError if it shows neither what a list nor what a product must show.

    A page cut short often still parses, so what is missing is an error, never an empty field.
    """
    tree = LexborHTMLParser(html)
    found = (canonical(url, a.attributes.get("href")) for a in tree.css("a[href]"))
    links = tuple(dict.fromkeys(link for link in found if link))
    if urlsplit(url).path.startswith("/list/"):
        if not any("/product/" in link for link in links):
            raise PageError("does not parse: a list page without products")
        return Page(links, None)
    return Page(links, _product(url, tree, links))


def is_picture(url: str) -> bool:
    """Whether a URL is that of a picture, not of a page."""
    return PICTURE_PATH.fullmatch(urlsplit(url).path) is not None


def canonical(base: str, href: str | None) -> str | None:
    """The one spelling of a link under which the frontier knows it; None if it leaves the shop's pages.

    Query and fragment are dropped: no page of this shop needs them, and a tracking parameter would make
    one page look like many.
    """
    parts = urlsplit(urljoin(base, href or ""))
    if parts.netloc != urlsplit(base).netloc or not PAGE_PATH.fullmatch(parts.path):
        return None
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def retry_after_s(header: str | None, now_s: float) -> float:
    """Seconds that a Retry-After header asks to wait: a number or an HTTP date; 0 if absent or unreadable."""
    if not header:
        return 0.0
    if header.strip().isdigit():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now_s)


def _failure(response: requests.Response, now_s: float, final: Container[int]) -> PageError:
    """What a bad answer means; with a status in `final` there is no point in trying again."""
    wait_s = retry_after_s(response.headers.get("Retry-After"), now_s)
    code = response.status_code
    return PageError(f"HTTP {code}", gone=code in final, retry_after_s=wait_s)


def _product(url: str, tree: LexborHTMLParser, links: tuple[str, ...]) -> dict[str, str]:
    """The fields that the page shows; all that it should show must be there."""
    nodes = ((name, tree.css_first(f".{name}")) for name in FIELDS)
    fields = {name: text for name, node in nodes if node and (text := node.text().strip())}
    missing = _expected(url, links) - fields.keys()
    if missing:
        raise PageError(f"does not parse: no {', '.join(sorted(missing))}")
    if image := tree.css_first("img.image[src]"):
        fields["image_url"] = urljoin(url, image.attributes["src"] or "")
    return fields


def _expected(url: str, links: tuple[str, ...]) -> set[str]:
    """A shop may need two pages per product: /product/7 and /view/7 show a part each, both with the sku."""
    if "/view/" in url:
        return set(FIELDS) - {"title"}
    if any("/view/" in link for link in links):
        return {"sku", "title"}
    return set(FIELDS)
