"""The shop's webhook: what was delivered at `/hook`, and which idempotency keys it has seen.

An `Idempotency-Key` is honoured as draft-ietf-httpapi-idempotency-key-header-07 (section 2.6) wants it: the same key
with the same body gets the first answer again, with another body it is refused with 422. A delivery counts once its
body has arrived, whether or not the answer gets back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

PATH = "/hook"
# Where the server leaves the answer for the application, in the WSGI environment.
RECEIPT = "killtest.receipt"
BODY_LIMIT_BYTES = 64 * 1024

_ACCEPTED, _NOT_JSON, _TOO_LARGE, _ANOTHER_BODY = 202, 400, 413, 422


class Delivery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A delivery as the request log tells it: its key, the digest of its body, and the body where it is JSON."""

    sha256: str
    idempotency_key: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a delivery; `is_replayed`: it is the answer that its key got the first time."""

    status: int
    body: bytes
    is_replayed: bool = False


@dataclass(slots=True, eq=False)
class Hooks:
    """The books of the webhook, one for all addresses of the site."""

    _accepted: int = 0
    _answers: dict[str, tuple[str, Receipt]] = field(default_factory=dict)

    def take(self, delivery: Delivery, size_bytes: int) -> Receipt:
        """A body of that size has arrived: accept it, answer it again, or refuse it."""
        if size_bytes > BODY_LIMIT_BYTES:
            return _refusal(_TOO_LARGE, f"a body may have {BODY_LIMIT_BYTES} bytes")
        if delivery.body is None:
            return _refusal(_NOT_JSON, "the body is no JSON object")
        key = delivery.idempotency_key
        if key is not None and key in self._answers:
            digest, first = self._answers[key]
            if digest != delivery.sha256:
                return _refusal(_ANOTHER_BODY, "this Idempotency-Key came with another body before")
            return Receipt(first.status, first.body, is_replayed=True)
        self._accepted += 1
        receipt = Receipt(_ACCEPTED, msgspec.json.encode({"delivery": self._accepted}))
        if key is not None:
            self._answers[key] = (delivery.sha256, receipt)
        return receipt

    def take_back(self, delivery: Delivery, receipt: Receipt) -> None:
        """An error page went out in place of the answer: to its sender it was not accepted, so the key is free.

        Unless the answer was one that is given again: the delivery that it is of stays accepted.
        """
        key = delivery.idempotency_key
        if key is not None and not receipt.is_replayed and self._answers.get(key, ("",))[0] == delivery.sha256:
            del self._answers[key]

    def forget_all(self) -> None:
        """No key has been seen."""
        self._answers.clear()


def read(body: Callable[[int], bytes], key: str) -> tuple[Delivery, int]:
    """Read a body to its end or beyond the limit, with its Idempotency-Key as sent ("": none), and its size in bytes.

    OSError when the client goes before the end.
    """
    text = bytearray()
    while len(text) <= BODY_LIMIT_BYTES and (piece := body(BODY_LIMIT_BYTES + 1 - len(text))):
        text += piece
    # A structured field's string stands in quotes; many clients leave them out.
    name = key.strip().removeprefix('"').removesuffix('"')
    return Delivery(sha256(text).hexdigest(), name or None, _json_object(bytes(text))), len(text)


def _json_object(text: bytes) -> str | None:
    """The text when it is one JSON object of at most the size that is taken."""
    if len(text) > BODY_LIMIT_BYTES:
        return None
    try:
        found = msgspec.json.decode(text)
        return text.decode() if isinstance(found, dict) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _refusal(status: int, reason: str) -> Receipt:
    return Receipt(status, msgspec.json.encode({"error": reason}))
