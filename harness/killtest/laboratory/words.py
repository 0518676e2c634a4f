"""What the laboratory's tables say, in both languages (words.toml)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "zh")


def said(key: str, lang: int, **values: object) -> str:
    """The text called `answers.twice.question`, its places filled in; `lang`: 0 English, 1 Chinese. KeyError: none."""
    found = _texts()
    for part in key.split("."):
        found = found[part]
    return str(found[LANGUAGES[lang]]).format_map(values)


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
