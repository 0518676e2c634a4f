"""The pages that the subject kept as they came, against those that were served. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from killtest.judge.truth import Product, Truth
from killtest.store.effects import StoredEffects
from killtest.store.rows import Row

# Served besides the pages, with the address of the site in it: not looked at.
_BESIDE = ("/robots.txt", "/sitemap.xml")


def served(truth: Truth) -> dict[str, set[str]]:
    """The digests of every page in every version, by path; `/` leads to the first list page."""
    found = {path: {digest} for path, digest in truth.lists.items()}
    found["/"] = found.get("/list/0", set())
    for product in truth.rows:
        for version in product.page_sha256:
            for path, digest in version.items():
                found.setdefault(path, set()).add(digest)
    return found


def judge(
    stored: StoredEffects,
    rows: Mapping[str, Row],
    products: Sequence[Product],
    numbers: Mapping[str, int],
    pages: Mapping[str, set[str]],
) -> tuple[dict[str, dict[str, str]], int]:
    """What is wrong with the captures, and how many whole ones are there beyond the first of a page and version."""
    whole = Counter[tuple[str, str]]()
    wrong: dict[str, str] = {}
    for capture in stored.captures:
        if capture.path is not None and capture.sha256 is not None and capture.sha256 in pages.get(capture.path, ()):
            whole[capture.path, capture.sha256] += 1
        elif capture.path not in _BESIDE:
            wrong[capture.place] = _fault(capture.path, capture.sha256, pages)
    kept = {path for path, _ in whole}
    missing: dict[str, str] = {}
    for key in rows:
        absent = [page for page in products[numbers[key]].pages if page not in kept]
        if absent:
            missing[key] = f"no whole capture of {', '.join(absent)}"
    torn = {line.partition(": ")[0]: line.partition(": ")[2] or "can't be read" for line in stored.torn}
    return {"missing": missing, "wrong": wrong, "torn": torn}, sum(times - 1 for times in whole.values())


def _fault(path: str | None, digest: str | None, pages: Mapping[str, set[str]]) -> str:
    if path is None or digest is None:
        return "no URL or no body"
    return f"{path}: like nothing served there" if path in pages else f"{path} is no page of this shop"
