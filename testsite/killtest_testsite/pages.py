"""The shop's pages as HTML text, its sitemap and robots.txt. Pure: functions of the layout and of what is shown.

Links lead onwards only (no way home, no way back), so that a crawler without any memory of what it has seen
still makes exactly the minimum of requests.

Plain string formatting instead of a template engine: a page costs microseconds, and the site must never be
the slowest part of a crawl.
"""

from __future__ import annotations

from html import escape

from .catalogue import Product
from .layout import Layout, NextPlace

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "header{border-bottom:1px solid #ddd;padding-bottom:.5rem}a{color:#0645ad}li{margin:.2rem 0}"
    "dt{color:#666;float:left;clear:left;width:8rem}img{border-radius:6px}"
)
_SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def list_page(layout: Layout, number: int, skus: list[tuple[int, str]]) -> str:
    """A list page: `skus` are the numbers and keys of the products that it links to."""
    following = layout.next_list(number)
    items = "".join(f'<li><a href="/product/{n}">{sku}</a></li>\n' for n, sku in skus)
    body = f'<ul class="products">\n{items}</ul>\n'
    link = "" if following is None else _next_link(f"/list/{following}", "Next page")
    title = f"Products, page {number + 1} of {layout.lists}"
    return _page(title, f"<h1>{title}</h1>\n" + _placed(link, body, layout.next_place))


def product_page(layout: Layout, product: Product) -> str:
    """The page of a product; in the shape `two_page` price, currency and availability are on its view."""
    number, following = product.number, layout.next_product(product.number)
    body = f'<h1 class="title">{escape(product.title)}</h1>\n' + _image(product)
    if layout.shape == "two_page":
        body += _facts(_sku(product)) + f'<p><a class="view" href="/view/{number}">Price and stock</a></p>\n'
    else:
        body += _facts(_sku(product) + _offer(product))
    link = "" if following is None else _next_link(f"/product/{following}", "Next product")
    return _page(escape(product.title), _placed(link, body, layout.next_place))


def view_page(product: Product) -> str:
    """The second page of a product in the shape `two_page`: sku, price, currency and availability."""
    body = f"<h1>Price and stock</h1>\n{_facts(_sku(product) + _offer(product))}"
    return _page(f"Price and stock of {product.sku}", body)


def robots(origin: str) -> str:
    """What /robots.txt says at `origin` (`http://127.0.0.1:8000`): everybody may crawl, and where the sitemap is."""
    return f"User-agent: *\nAllow: /\n\nSitemap: {origin}/sitemap.xml\n"


def sitemap(layout: Layout, origin: str) -> str:
    """The page of every product, in order, as a sitemap (sitemaps.org), which wants absolute URLs."""
    start = escape(f"{origin}/product/")
    urls = "".join(f"<url><loc>{start}{number}</loc></url>\n" for number in range(1, layout.products + 1))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_SITEMAP_NAMESPACE}">\n{urls}</urlset>\n'


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title} – killtest shop</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        "<header>killtest shop</header>\n"
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _placed(link: str, body: str, place: NextPlace) -> str:
    return link + body if place == "first" else body + link


def _next_link(href: str, text: str) -> str:
    return f'<nav><a rel="next" class="next" href="{href}">{text}</a></nav>\n'


def _image(product: Product) -> str:
    source = f"/image/{product.number}"
    return f'<img class="image" src="{source}" width="96" height="96" alt="{escape(product.title)}">\n'


def _facts(rows: str) -> str:
    return f"<dl>\n{rows}</dl>\n"


def _sku(product: Product) -> str:
    return f'<dt>Article</dt><dd><span class="sku">{product.sku}</span></dd>\n'


def _offer(product: Product) -> str:
    return (
        f'<dt>Price</dt><dd><span class="price">{product.price}</span> '
        f'<span class="currency">{product.currency}</span></dd>\n'
        f'<dt>Availability</dt><dd><span class="availability">{product.availability}</span></dd>\n'
    )
