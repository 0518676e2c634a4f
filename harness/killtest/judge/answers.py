"""What the site answered, page by page: the newest version, the first moment, and how far the best request got."""

from collections.abc import Container, Iterable, Iterator

from killtest.judge.request_log import Request
from killtest.judge.truth import Product

# How a request fared, the best first.
FATES = ("answered", "broken", "held")


def newest_versions(requests: Iterable[Request]) -> dict[str, int]:
    """The newest version of each page that went out in full; pages that never went beyond version 0 are left out."""
    newest: dict[str, int] = {}
    for request in requests:
        if request.version and request.is_page and request.is_answered:
            newest[request.path] = max(newest.get(request.path, request.version), request.version)
    return newest


def version_served(product: Product, newest: dict[str, int]) -> int:
    """The version that the crawler was given in full on every page of the product; 0 unless a newer one was."""
    return min((newest.get(page, 0) for page in product.pages), default=0)


def full_answers(requests: Iterable[Request]) -> Iterator[tuple[str, float]]:
    """Each page that went out in full, and when, in seconds of CLOCK_MONOTONIC."""
    for request in requests:
        sent_s = request.ended_s if request.sent_s is None else request.sent_s
        if sent_s is not None and request.is_page and request.is_answered:
            yield request.path, sent_s


def first_answers(requests: Iterable[Request]) -> dict[str, float]:
    """When each page first went out in full."""
    first: dict[str, float] = {}
    for path, sent_s in full_answers(requests):
        first[path] = min(first.get(path, sent_s), sent_s)
    return first


def best_fates(requests: Iterable[Request], wanted: Container[str]) -> dict[str, int]:
    """For each of the wanted pages that was asked for: how its best request fared, as a place in FATES."""
    best: dict[str, int] = {}
    for request in requests:
        if request.is_page and request.path in wanted:
            fate = 0 if request.is_answered else 2 if request.outcome == "held" else 1
            best[request.path] = min(best.get(request.path, fate), fate)
    return best


def fate_of(product: Product, best: dict[str, int]) -> str | None:
    """How the page of the product that got least far fared, of those asked for; None when none was.

    A product of two pages can only be stored once both have been answered.
    """
    asked = [best[page] for page in product.pages if page in best]
    return FATES[max(asked)] if asked else None
