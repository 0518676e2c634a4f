"""Products whose pages had all been answered and whose row was not stored yet: what a kill may have hit. Pure."""

from array import array
from collections import Counter
from collections.abc import Iterable
from math import inf

from killtest.judge.answers import first_answers, full_answers
from killtest.judge.holdings import held
from killtest.judge.request_log import Request
from killtest.judge.truth import Truth, numbers_of
from killtest.store.snapshot import Snapshot


class Waits:
    """Knows when each product could be stored; answers for any snapshot whether one was waited for."""

    def __init__(self, truth: Truth, requests: Iterable[Request]) -> None:
        """Go through the requests once, with several groups once for each question."""
        self._truth = truth
        self._requests = requests
        self._numbers = numbers_of(truth.rows)
        first = first_answers(requests) if truth.groups == 1 else {}
        # For each product the second at which all its pages had been answered; infinite when they never were.
        self._ready_s = array(
            "d", (max((first.get(page, inf) for page in one.pages), default=inf) for one in truth.rows)
        )

    def has_one(self, taken: Snapshot, killed_s: float) -> bool:
        """Whether a product's pages had been answered by that second, and `taken`, of later, holds no row of it."""
        stored = held(taken, self._numbers)
        if self._truth.groups > 1:
            return self._has_one_in_a_group(stored, killed_s)
        return any(ready <= killed_s and not is_held for ready, is_held in zip(self._ready_s, stored, strict=True))

    def _has_one_in_a_group(self, stored: bytearray, killed_s: float) -> bool:
        """Whether some pages had been answered more often than there are rows from them.

        For which group a page was asked is not known. A page that was asked for again counts again, so this may see a
        wait where there was none.
        """
        answered = Counter(path for path, sent_s in full_answers(self._requests) if sent_s <= killed_s)
        rows = Counter[tuple[str, ...]]()
        for product, is_held in zip(self._truth.rows, stored, strict=True):
            rows[product.pages] += is_held
        most = self._truth.groups
        return any(min(most, *(answered[page] for page in pages)) > count for pages, count in rows.items())
