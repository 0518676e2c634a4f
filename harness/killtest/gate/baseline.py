"""The baseline: the same schedules in an earlier campaign, compared pair by pair. Pure."""

import random
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from killtest.gate.budget import Budget, Budgets
from killtest.gate.tally import amount
from killtest.report.frame import subject_label
from killtest.report.statistics import bootstrap_interval, paired_ratio, sign_test

Line = dict[str, Any]
Pair = tuple[Line, Line]
COUNTS = ("requests", "repeated", "lost", "missed", "duplicated", "corrupted")


class Spread(msgspec.Struct, frozen=True):
    """A median over `n` pairs with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    n: int


class Comparison(msgspec.Struct, frozen=True):
    """One figure of one subject against the baseline, over `n` pairs.

    `ratio` is over the pairs whose baseline is above zero, `difference` over those whose baseline is zero: a zero
    never divides. `more` and `fewer` count the pairs above and below `limit` times their baseline, `p` is the
    one-sided sign test of those two. `limit` None: reported, never gated.
    """

    subject: str
    metric: str
    n: int
    ratio: Spread | None
    difference: Spread | None
    more: int
    fewer: int
    p: float
    limit: float | None
    significance: float
    worse_trials: list[str] = []

    @property
    def is_worse(self) -> bool:
        """Whether more pairs are above the limit than chance explains."""
        return self.limit is not None and self.p < self.significance

    def words(self) -> str:
        """Ratio or difference with n and interval, and which test says what."""
        parts = []
        if self.ratio is not None:
            parts.append(f"median ratio {_spread(self.ratio)} of {self.ratio.n} pairs")
        if self.difference is not None:
            parts.append(f"median difference {_spread(self.difference)} of {self.difference.n} pairs with baseline 0")
        above = "above" if self.limit in (None, 1.0) else f"above {self.limit:g} times"
        parts.append(
            f"{self.more} {above} and {self.fewer} below; sign test, one-sided, p = {self.p:.2g}, n = {self.n}"
        )
        return "; ".join(parts)


def compare(lines: Sequence[Line], before: Sequence[Line], budgets: Budgets) -> list[Comparison]:
    """Every figure of every subject that has pairs: trials of the same name with the same faults in both campaigns."""
    old = {_key(line): line for line in before if _is_comparable(line)}
    pairs: dict[str, list[Pair]] = {}
    for line in lines:
        if _is_comparable(line) and _key(line) in old:
            pairs.setdefault(subject_label(line), []).append((old[_key(line)], line))
    return [one for subject, found in pairs.items() for one in _figures(subject, found, budgets.of(subject))]


def _key(line: Line) -> tuple[str, str, tuple[str, ...]]:
    return subject_label(line), line["schedule"]["name"], tuple(line["schedule"]["faults"])


def _is_comparable(line: Line) -> bool:
    return not line["control"] and line["data"] is not None and line["traffic"] is not None


def _figures(subject: str, pairs: list[Pair], budget: Budget) -> list[Comparison]:
    limits: dict[str, float | None] = dict.fromkeys(COUNTS, budget.findings_ratio)
    limits |= {"requests": budget.requests_ratio, "repeated": budget.requests_ratio, "seconds": budget.seconds_ratio}
    return [_compared(subject, metric, pairs, limit, budget.significance) for metric, limit in limits.items()]


def _compared(subject: str, metric: str, pairs: list[Pair], limit: float | None, significance: float) -> Comparison:
    values = [(_value(old, metric), _value(new, metric)) for old, new in pairs]
    divisible = [(old, new) for old, new in values if old > 0]
    rises = [new - old for old, new in values if old <= 0]
    # The same campaigns give the same interval: the seed is the figure's name.
    rng = random.Random(f"{subject}/{metric}")
    allowed = 1.0 if limit is None else limit
    signs = [new - allowed * old for old, new in values]
    more, fewer = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    worse = [new["id"] for (_, new), sign in zip(pairs, signs, strict=True) if sign > 0]
    return Comparison(
        subject,
        metric,
        len(pairs),
        _ratio(divisible, rng),
        _difference(rises, rng),
        more,
        fewer,
        sign_test(more, fewer),
        limit,
        significance,
        worse,
    )


def _value(line: Mapping[str, Any], metric: str) -> float:
    return float(line["time"]["wall_s"]) if metric == "seconds" else float(amount(dict(line), metric))


def _ratio(pairs: list[tuple[float, float]], rng: random.Random) -> Spread | None:
    if not pairs:
        return None
    found = paired_ratio([old for old, _ in pairs], [new for _, new in pairs], rng)
    return Spread(found.value, found.low, found.high, found.n)


def _difference(rises: list[float], rng: random.Random) -> Spread | None:
    if not rises:
        return None
    interval = bootstrap_interval(rises, rng)
    return Spread(median(rises), interval.low, interval.high, len(rises))


def _spread(found: Spread) -> str:
    return f"{found.value:.3g} [{found.low:.3g}–{found.high:.3g}]"
