"""The Flask application: paths to pages. It knows nothing of faults, holds and logs; the server does that."""

from __future__ import annotations

from flask import Flask, Response, abort, redirect, request
from werkzeug.wrappers import Response as WsgiResponse

from . import pages
from .stock import Stock

_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_XML = "application/xml; charset=utf-8"


def create_app(stock: Stock) -> Flask:
    """The shop as a WSGI application. Pages show the stock as it is when the application is called."""
    app = Flask(__name__, static_folder=None)
    layout = stock.layout

    @app.get("/")
    def home() -> WsgiResponse:
        return redirect("/list/0")

    @app.get("/robots.txt")
    def robots() -> Response:
        return Response(pages.robots(_origin()), content_type=_TEXT)

    @app.get("/sitemap.xml")
    def sitemap() -> Response:
        return Response(pages.sitemap(layout, _origin()), content_type=_XML)

    @app.get("/image/<number>")
    def image(number: str) -> Response:
        pictured = layout.pictured(f"/image/{number}")
        if pictured is None:
            abort(404)
        return Response(stock.image(pictured), content_type="image/bmp")

    @app.get("/<kind>/<number>")
    def page(kind: str, number: str) -> Response:
        return Response(_html(stock, f"/{kind}/{number}"), content_type=_HTML)

    return app


def _origin() -> str:
    """What the client calls this site; our own address where it sent no Host, or none that can be one."""
    own = f"{request.environ['SERVER_NAME']}:{request.environ['SERVER_PORT']}"
    return f"http://{request.host or own}"


def _html(stock: Stock, path: str) -> str:
    """The HTML of the page at a path; 404 where there is none."""
    layout = stock.layout
    page = layout.page(path)
    if page is None:
        abort(404)
    if page.kind == "list":
        skus = [(number, stock.catalogue.key(number)) for number in layout.on_list(page.number)]
        return pages.list_page(layout, page.number, skus)
    product = stock.product(page.number)
    return pages.product_page(layout, product) if page.kind == "product" else pages.view_page(product)
