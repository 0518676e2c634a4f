"""How a set of observations becomes one cell of a table: spreads, rates, totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from killtest.report.statistics import rule_of_three, wilson_interval


def spread(values: Sequence[float], words: Mapping[str, str], digits: int = 0) -> str:
    """`median [lowest–highest]`; one number when all are equal; says so when there are none.

    The range and not an interval: with the handful of trials of a campaign a bootstrap interval of the median
    claims more than it knows. `digits` are decimals.
    """
    if not values:
        return words["no_data"]
    middle, low, high = (_number(value, digits) for value in (median(values), min(values), max(values)))
    return middle if low == high else f"{middle} [{low}–{high}]"


def _number(value: float, digits: int) -> str:
    """A number with thousands separators; a half, as medians have, is not rounded away."""
    if digits == 0 and value != int(value):
        digits = 1
    return f"{value:,.{digits}f}"


def rate(k: int, n: int, words: Mapping[str, str]) -> str:
    """`k of n` as percent with Wilson's 95 % interval; for 0 of n the rule of three, `< 3/n`."""
    if n == 0:
        return words["none_judged"]
    if k == 0:
        return f"0 % (< 3/{n} = {percent(rule_of_three(n))})"
    interval = wilson_interval(k, n)
    return f"{percent(k / n)} [{percent(interval.low)}–{percent(interval.high)}]"


def percent(share: float) -> str:
    """A fraction of 1 as whole percent, with one decimal below 10 % where whole percent says too little."""
    value = 100 * share
    return f"{value:.1f} %" if 0 < value < 10 else f"{value:.0f} %"


def total(counts: Sequence[float], words: Mapping[str, str]) -> str:
    """The sum over trials and in how many of them it was above 0: `12 (3/5)`; a bare 0 when it never was."""
    if not counts:
        return words["no_data"]
    hits = sum(count > 0 for count in counts)
    return f"{sum(counts):,} ({hits}/{len(counts)})" if hits else "0"


def share(k: int, n: int) -> str:
    """`k of n` as a count with its percentage: `7 (70 %)`; a bare 0 when n is 0."""
    return f"{k:,} ({percent(k / n)})" if n else f"{k:,}"
