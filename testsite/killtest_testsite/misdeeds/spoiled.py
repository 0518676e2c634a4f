"""What is sent in place of an answer, and how it ends; taking an answer apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

Ending = Literal["whole", "closed", "reset"]

_HEAD_END = b"\r\n\r\n"
# Of the shop's own answer these are kept where another takes its place: they say how the connection goes on.
_KEPT = (b"date:", b"connection:")


@dataclass(frozen=True, slots=True)
class Spoiled:
    """The bytes that are sent, the body at `bytes_per_s` (None: at once).

    `whole` is an answer to its end, `closed` and `reset` break the connection behind the last byte.
    """

    data: bytes
    ending: Ending = "whole"
    bytes_per_s: int | None = None


def body_at(answer: bytes) -> int:
    """Where the body of an answer begins."""
    return answer.index(_HEAD_END) + len(_HEAD_END)


def cut(answer: bytes, at_bytes: int | None) -> bytes:
    """Whole headers and the first `at_bytes` of the body; nothing at all for None."""
    return b"" if at_bytes is None else answer[: body_at(answer) + at_bytes]


def replaced(answer: bytes, status: int, headers: Sequence[str] = ()) -> bytes:
    """Another answer in the place of one: a small page that says its status; without a body where there was none."""
    start = body_at(answer)
    kept = [line for line in answer[:start].split(b"\r\n")[1:] if line.lower().startswith(_KEPT)]
    words = f"{status} {_phrase(status)}"
    body = f"<!doctype html>\n<html><body><h1>{words}</h1></body></html>\n".encode()
    own = [f"HTTP/1.1 {words}", "Content-Type: text/html; charset=utf-8", f"Content-Length: {len(body)}", *headers]
    head = b"\r\n".join([*(line.encode() for line in own), *kept]) + _HEAD_END
    return head + body if answer[start:] else head


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
