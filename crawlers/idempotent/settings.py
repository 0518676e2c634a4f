"""What is set in the environment."""

from __future__ import annotations

import os


class SettingError(Exception):
    """Something in the environment is no setting; the message names it."""


def number(name: str, default: float) -> float:
    """The number of that name in the environment; SettingError where something else stands there."""
    text = os.environ.get(name, str(default))
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"{name} is {text!r}: wants a number") from None
