"""The shop: list pages link products, a product's page gives its title, the page behind it the rest."""

from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

REVISION = 0

OFFER = ("price", "currency", "availability")


def parse(url: str, html: bytes, meta: dict) -> tuple[list[dict], list[tuple[str, dict]]]:
    """The rows of a page, and its further pages with what they are to be told."""
    tree = LexborHTMLParser(html)
    links = [urljoin(url, a.attributes["href"]) for a in tree.css("ul.products a, a.next")]
    children = [(link, {}) for link in links]
    if tree.css_first(".sku") is None:
        return [], children
    found = {**meta, **{name: node.text() for name in ("sku", "title", *OFFER) if (node := tree.css_first(f".{name}"))}}
    if view := tree.css_first("a.view"):
        return [], [(urljoin(url, view.attributes["href"]), found), *children]
    return [{"url": url, "revision": REVISION, **found}], children
