"""How much a search may cost, and how sure it wants to be."""

from collections.abc import Callable
from typing import NamedTuple


class Spent(Exception):  # the search ends here, with the best so far
    """The budget is used up."""


class Budget:
    """So many runs, and so many seconds from now; no run starts once either is used up."""

    def __init__(self, runs: int, seconds: float, clock: Callable[[], float]) -> None:
        """Begin to count."""
        self._most = runs
        self._seconds = seconds
        self._clock = clock
        self._began_s = clock()
        self.runs = 0

    @property
    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began_s

    def take(self) -> None:
        """Another run begins; Spent when there is none left."""
        if self.runs >= self._most or self.spent_s >= self._seconds:
            raise Spent
        self.runs += 1


class Rule(NamedTuple):
    """`wanted` of at most `of` runs must give the same findings: what is noisy needs more than one run."""

    wanted: int
    of: int

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return f"{self.wanted}/{self.of}"


ONCE = Rule(1, 1)
NOISY = Rule(2, 3)
