"""The whole JSON objects in a text that is no JSON as such, because what wrote it was killed."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

# Names such as NaN are no JSON, but Python writes them: the object is damaged, and yet can be read.
_DECODER = json.JSONDecoder(parse_constant=str)
ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Found(NamedTuple):
    """An object that stands whole in data[start:end]; `flaw` says why not all of it could be taken over."""

    start: int
    end: int
    columns: dict[str, Any]
    flaw: str | None


def search(data: bytes, key: str) -> Iterator[Found]:
    """The objects of `data` that are whole and have the column `key`, in their order, none in another.

    Where half an object is followed by a whole one, any `{` may be the start of that: it is one when all up to its
    end is JSON. Without the key it is a part of the half object, or holds the objects that are looked for.
    """
    # In Latin-1 a character is a byte: a cut character stops nothing, and an index is an offset.
    text = data.decode("latin-1")
    at = text.find("{")
    while at >= 0:
        try:
            _, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            return
        except ValueError:
            at = text.find("{", at + 1)
            continue
        columns, flaw = _columns(data[at:end])
        is_row = isinstance(columns.get(key), (str, int))
        if is_row:
            yield Found(at, end, columns, flaw)
        at = text.find("{", end if is_row else at + 1)


def _columns(piece: bytes) -> tuple[dict[str, Any], str | None]:
    """The columns of an object; those with a character that is no UTF-8 are left out and named."""
    try:
        columns: dict[str, Any] = msgspec.json.decode(piece)
    except ERRORS as error:
        read: dict[str, Any] = _DECODER.decode(piece.decode("utf-8", "surrogateescape"))
        columns = {name: value for name, value in read.items() if _is_text([name, value])}
        spoiled = ", ".join(_shown(name) for name in read if name not in columns)
        return columns, f"no UTF-8 in {spoiled}" if spoiled else str(error)
    return columns, None


def _is_text(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
