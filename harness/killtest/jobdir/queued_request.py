"""A request as it lies in a queue, and whether requests.seen holds its fingerprint."""

import hashlib
import json
import re
from collections.abc import Set

import msgspec

from killtest.jobdir import record
from killtest.jobdir.plain_value import Undecodable, printable, summary

# What w3lib.url.canonicalize_url leaves as it is, apart from the order of a query's arguments.
_PLAIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?/[A-Za-z0-9/._~-]*(\?[A-Za-z0-9._~-]+=[A-Za-z0-9._~-]*)?")


class QueuedRequest(msgspec.Struct, frozen=True):
    """What a resume would ask for. `is_known`: None where Scrapy's fingerprint of it can't be worked out here."""

    method: str
    url: str
    callback: str | None
    priority: int
    is_known: bool | None = None


def read(data: bytes, seen: Set[bytes]) -> QueuedRequest:
    """The request in a record; Undecodable when a resume can't make one of it."""
    found, _ = record.decode(data)
    if not isinstance(found, dict):
        raise Undecodable(f"a {type(found).__name__}, no request")
    url, method, priority = found.get("url"), found.get("method", "GET"), found.get("priority", 0)
    if not (isinstance(url, str) and isinstance(method, str)):
        raise Undecodable("a request without URL or method")
    callback, body = found.get("callback"), found.get("body", b"")
    return QueuedRequest(
        printable(method),
        printable(url),
        None if callback is None else str(summary(callback)),
        priority if isinstance(priority, int) and abs(priority) < 1 << 63 else 0,
        _is_known(url, method, body if isinstance(body, bytes) else b"", seen),
    )


def _is_known(url: str, method: str, body: bytes, seen: Set[bytes]) -> bool | None:
    if fingerprint(url, method, body) in seen:
        return True
    return False if _PLAIN.fullmatch(url) else None


def fingerprint(url: str, method: str, body: bytes) -> bytes:
    """Scrapy's fingerprint of a request whose URL is canonical (scrapy.utils.request.fingerprint)."""
    facts = {"method": method, "url": url, "body": body.hex(), "headers": {}}
    return hashlib.sha1(json.dumps(facts, sort_keys=True).encode(), usedforsecurity=False).digest()
