"""Delta debugging: the algorithm ddmin of Zeller and Hildebrandt.

"Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering 28(2), 2002, figure 4.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of `items`, in their order, that fails and fails no more without any single one of its items.

    `items` are known to fail as a whole, and nothing at all is known to pass: neither is tried.
    """
    kept, parts = tuple(items), 2
    while len(kept) > 1:
        found = _smaller(kept, parts, fails)
        if found is not None:
            kept, parts = found
        elif parts < len(kept):
            parts = min(len(kept), 2 * parts)
        else:
            break
    return kept


def _smaller(
    kept: tuple[T, ...], parts: int, fails: Callable[[tuple[T, ...]], bool]
) -> tuple[tuple[T, ...], int] | None:
    """A failing part, or all but one part, with the granularity to go on with; None when neither fails."""
    bounds = [len(kept) * i // parts for i in range(parts + 1)]
    spans = list(pairwise(bounds))
    for low, high in spans:
        if fails(kept[low:high]):
            return kept[low:high], 2
    # Of two parts each is the other's complement.
    for low, high in spans if parts > 2 else ():
        if fails(kept[:low] + kept[high:]):
            return kept[:low] + kept[high:], max(parts - 1, 2)
    return None
