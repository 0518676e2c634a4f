"""Durations in the text of a fault: seconds in decimals."""

from decimal import Decimal

# ASCII digits alone: Python takes those of any script for numbers. So many fit into 64 bits, which the site counts in.
NUMBER = "[0-9]{1,18}"
SECONDS = rf"{NUMBER}(?:\.[0-9]+)?"


def text(seconds: float) -> str:
    """Seconds in decimals, as few as give the same number again, and never with an exponent."""
    words = format(Decimal(repr(seconds)), "f")
    return words.rstrip("0").rstrip(".") if "." in words else words
