"""The Flask application: paths to pages. It knows nothing of faults, holds and logs; the server does that."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, TypeVar

from flask import Flask, Response, abort, redirect, request
from werkzeug.wrappers import Response as WsgiResponse

from . import hooks, pages
from .hooks import Receipt
from .served import html
from .stock import Stock

_JSON = "application/json"
_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_XML = "application/xml; charset=utf-8"
_ETAG_DIGITS = 32

T = TypeVar("T")


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
        picture = stock.image(_found(layout.pictured(f"/image/{number}")))
        answer = Response(picture, content_type="image/bmp")
        answer.set_etag(sha256(picture).hexdigest()[:_ETAG_DIGITS])
        # Range, If-Range and If-None-Match: 206, 304, 416.
        answer.make_conditional(_conditions(), accept_ranges=True, complete_length=len(picture))
        return answer

    @app.post(hooks.PATH)
    def hook() -> Response:
        receipt: Receipt = request.environ[hooks.RECEIPT]
        headers = {"Idempotent-Replayed": "true"} if receipt.is_replayed else {}
        return Response(receipt.body, receipt.status, headers, content_type=_JSON)

    @app.get("/<kind>/<number>")
    def page(kind: str, number: str) -> Response:
        return Response(_found(html(stock, f"/{kind}/{number}")), content_type=_HTML)

    return app


def _found(thing: T | None) -> T:
    """What is there; 404 where nothing is."""
    if thing is None:
        abort(404)
    return thing


def _conditions() -> dict[str, Any]:
    """The request's environment, without a Range that asks for more than a GET of one piece in bytes.

    A unit that is not known and a Range of another method have to be ignored, several pieces may be (RFC 9110, 14.2).
    """
    wanted = request.range
    is_known = wanted is None or (wanted.units == "bytes" and len(wanted.ranges) == 1)
    ignored = () if is_known and request.method == "GET" else ("HTTP_RANGE",)
    return {name: value for name, value in request.environ.items() if name not in ignored}


def _origin() -> str:
    """What the client calls this site; our own address where it sent no Host, or none that can be one."""
    own = f"{request.environ['SERVER_NAME']}:{request.environ['SERVER_PORT']}"
    return f"http://{request.host or own}"
