"""Who may ask the HTTP service for what: programs on this machine, and the service's own page in a browser."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse

READING = ("GET", "HEAD", "OPTIONS")
OWN = ("same-origin", "none")  # none: a person typed the address
RULES = (
    "default-src 'none'; style-src 'nonce-{0}'; script-src 'nonce-{0}'; connect-src 'self'; form-action 'self';"
    " img-src data:; base-uri 'none'; frame-ancestors 'none'"
)


class Door:
    """Middleware: refuses foreign names of this host and whatever other web pages make a browser send here.

    There is no login: whoever may open a connection may use the service. What needs keeping out is a page of
    somebody else in the browser of somebody who may; a browser names the page's origin with everything it sends.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, or refuse with one sentence."""
        request.nonce = secrets.token_urlsafe(12)  # type: ignore[attr-defined]
        response = _refusal(request) or self.get_response(request)
        response["Content-Security-Policy"] = RULES.format(request.nonce)  # type: ignore[attr-defined]
        response["Cache-Control"] = "no-store"
        return response


def _refusal(request: HttpRequest) -> HttpResponse | None:
    try:
        own = f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:  # also how a page whose name was pointed at this address would ask
        return refused(400, f"this service answers only to {', '.join(settings.ALLOWED_HOSTS)}")
    if request.method in READING:
        return None  # other pages may send that, but do not see the answer
    origin, site = request.headers.get("Origin", own), request.headers.get("Sec-Fetch-Site", "same-origin")
    if origin == own and site in OWN:
        return None
    return refused(403, "a web page of another origin sent this; use the service's own page, or a program")


def refused(status: int, why: str) -> JsonResponse:
    """An error as one JSON sentence."""
    return JsonResponse({"error": why}, status=status)
