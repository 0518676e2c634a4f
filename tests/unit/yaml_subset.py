"""Read the part of YAML that our workflow files keep to; anything else is a ValueError, and so is a repeated key.

Block mappings, block lists, `|` texts, flow lists of scalars, plain and quoted scalars, whole-line comments.
"""

import re
from typing import Any

_KEY = re.compile(r"([A-Za-z0-9_.-]+):(?: +(.*))?")
Line = tuple[int, str]


def load(text: str) -> Any:
    """The document as mappings, lists and texts (numbers and booleans stay texts)."""
    if "\t" in text:
        raise ValueError("a tab")
    lines = [(len(raw) - len(raw.lstrip()), raw.strip()) for raw in text.splitlines()]
    value, rest = _block(_skip(lines))
    if rest:
        raise ValueError(f"left over: {rest[0][1]}")
    return value


def _skip(lines: list[Line]) -> list[Line]:
    while lines and (not lines[0][1] or lines[0][1].startswith("#")):
        lines = lines[1:]
    return lines


def _block(lines: list[Line]) -> tuple[Any, list[Line]]:
    return _items(lines) if lines[0][1].startswith("- ") else _mapping(lines)


def _items(lines: list[Line]) -> tuple[list[Any], list[Line]]:
    found, indent = [], lines[0][0]
    while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
        word = lines[0][1][2:]
        if _KEY.fullmatch(word):  # a mapping that begins behind the dash
            value, lines = _mapping([(indent + 2, word), *lines[1:]])
        else:
            value, lines = _scalar(word), lines[1:]
        found.append(value)
        lines = _skip(lines)
    return found, lines


def _mapping(lines: list[Line]) -> tuple[dict[str, Any], list[Line]]:
    found: dict[str, Any] = {}
    indent = lines[0][0]
    while lines and lines[0][0] == indent:
        key = _KEY.fullmatch(lines[0][1])
        if key is None or key[1] in found:
            raise ValueError(f"no key, or one that was there: {lines[0][1]}")
        found[key[1]], lines = _value(key[2], indent, lines[1:])
        lines = _skip(lines)
    if lines and lines[0][0] > indent:
        raise ValueError(f"deeper than what it belongs to: {lines[0][1]}")
    return found, lines


def _value(word: str | None, indent: int, lines: list[Line]) -> tuple[Any, list[Line]]:
    if word == "|":
        return _literal(indent, lines)
    if word:
        return _scalar(word), lines
    lines = _skip(lines)
    is_below = lines and (lines[0][0] > indent or (lines[0][0] == indent and lines[0][1].startswith("- ")))
    return _block(lines) if is_below else (None, lines)


def _literal(indent: int, lines: list[Line]) -> tuple[str, list[Line]]:
    own, text = lines[0][0], []
    while lines and (lines[0][0] > indent or not lines[0][1]):
        text.append(" " * (lines[0][0] - own) + lines[0][1])
        lines = lines[1:]
    return "\n".join(text).rstrip("\n") + "\n", lines


def _scalar(word: str) -> Any:
    if word.startswith("[") and word.endswith("]"):
        return [_scalar(part.strip()) for part in word[1:-1].split(",")]
    if word[0] in "\"'" and word[-1] == word[0] and len(word) > 1 and word[0] not in word[1:-1]:
        return word[1:-1]
    if word[0] in "\"'[]{}&*!>|%@`" or ": " in word or " #" in word or word.endswith(":"):
        raise ValueError(f"not in this subset: {word}")
    return word
