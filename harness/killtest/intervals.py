"""Numbers as people write them: 3-7, 9, 12-14."""

from collections.abc import Sequence


def words(numbers: Sequence[int], most: int = 4) -> str:
    """Ascending numbers as intervals: 3-7, 9, 12-14 and 5 more."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    shown = [f"{low}-{high}" if low != high else f"{low}" for low, high in found]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
