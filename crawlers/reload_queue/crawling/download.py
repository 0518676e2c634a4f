"""Fetching a page: patient with a server in trouble, short with one that says no."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

TIMEOUT_S = 30.0
RETRIES = 5
FIRST_RETRY_S = 0.2
LONGEST_RETRY_S = 60.0
REDIRECTS = 5
MOVED = (301, 308)  # for good, says the server; any other redirect leads elsewhere for now only
BELIEVED_AFTER = 2  # what leads elsewhere for the third time does so for good, whatever the server calls it
HEADERS = {"User-Agent": "reload-queue-crawler", "Accept": "text/html,*/*;q=0.5"}
BUSY = 429


class Refused(Exception):
    """The page cannot be had; the text says why, for the job's failures."""


class Interrupted(Exception):
    """The worker was told to stop while it waited for another attempt."""


class Trouble(Exception):
    """It may work later; `wait_s` is what the server asked for, 0 if it did not."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Fetched:
    """An answer 200: where it was found after redirects, and its body."""

    url: str
    body: bytes


def pool() -> urllib3.PoolManager:
    """A worker's one kept connection."""
    return urllib3.PoolManager(num_pools=2, maxsize=1, retries=False, timeout=TIMEOUT_S, headers=HEADERS)


def fetch(http: urllib3.PoolManager, url: str, stopped_within: Callable[[float], bool]) -> Fetched:
    """Get a page; raises Refused when there is none, Interrupted when `stopped_within` says so in a pause.

    No connection, silence for 30 s, 5xx and 429 are tried again up to 5 times, and so is a page that leads to itself.
    One that leads elsewhere for now is asked for twice more before that is believed: another page in its place is no
    answer, and who took it for one would never see this one.
    """
    for attempt in range(RETRIES + 1):
        try:
            return _follow(http, url, believes=attempt >= BELIEVED_AFTER)
        except Trouble as trouble:
            if attempt == RETRIES:
                raise Refused(f"{trouble} ({attempt + 1} attempts)") from trouble
            wait_s = max(trouble.wait_s, FIRST_RETRY_S * 2**attempt * random.uniform(0.7, 1.0))
        if stopped_within(min(wait_s, LONGEST_RETRY_S)):
            raise Interrupted
    raise AssertionError("the last attempt returns or raises")


def _follow(http: urllib3.PoolManager, url: str, *, believes: bool) -> Fetched:
    here = url
    for _ in range(REDIRECTS + 1):
        answer = _get(http, here)
        if answer.status == 200:
            return Fetched(here, answer.data)
        there = _leads_to(here, answer)
        if not 300 <= answer.status < 400:
            raise Refused(f"HTTP {answer.status}")
        if urlsplit(there).netloc != urlsplit(url).netloc:
            raise Refused(f"HTTP {answer.status}: leads to another site, {there}")
        if there == here or not (believes or answer.status in MOVED):
            raise Trouble(f"HTTP {answer.status}: leads to {there} for now")
        here = there
    raise Refused(f"more than {REDIRECTS} redirects, the last to {here}")


def _leads_to(here: str, answer: urllib3.BaseHTTPResponse) -> str:
    location = answer.headers.get("Location", "")
    try:
        there = urljoin(here, location)
        urlsplit(there)  # raises for some that are joined
    except ValueError as error:
        raise Refused(f"HTTP {answer.status}: leads to {location}, which is no URL ({error})") from error
    return there


def _get(http: urllib3.PoolManager, url: str) -> urllib3.BaseHTTPResponse:
    try:
        answer = http.request("GET", url, redirect=False)
    except HTTPError as error:
        raise Trouble(f"{type(error).__name__}: {error}") from error
    except ValueError as error:  # a URL that cannot be asked for, in a way that urllib3 does not name
        raise Refused(f"{type(error).__name__}: {error}") from error
    if answer.status >= 500 or answer.status == BUSY:
        raise Trouble(f"HTTP {answer.status}", retry_after_s(answer.headers.get("Retry-After"), datetime.now(UTC)))
    return answer


def retry_after_s(header: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header asks to wait: a number or an HTTP date; 0 if absent or unreadable."""
    if not header:
        return 0.0
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
