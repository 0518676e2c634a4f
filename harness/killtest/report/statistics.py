"""Intervals for small numbers of trials; pure, standard library only.

Rates get Wilson's score interval, "it never happened" gets the rule of three, and medians, means and
paired ratios get the percentile bootstrap. Randomness is an argument: the same seed gives the same interval.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Interval:
    """A two-sided interval `low` to `high`, in the unit of what it is about."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A point estimate with its interval and the number of observations behind it."""

    value: float
    low: float
    high: float
    n: int


def wilson_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """The interval of a rate of which `k` of `n` were seen; both ends are fractions of 1.

    Wilson's score interval without continuity correction. It stays inside 0 to 1 and keeps its meaning for
    small n and for k = 0 or k = n, where the textbook interval has no width at all.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22 (1927), 209-212.

    Raises ValueError unless 0 <= k <= n, n >= 1 and 0 < level < 1.
    """
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"a rate needs 0 <= k <= n and n >= 1, got k={k}, n={n}")
    z = NormalDist().inv_cdf((1 + _checked_level(level)) / 2)
    rate = k / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # The ends are 0 and 1 exactly at k = 0 and k = n; rounding must not move them.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return Interval(low, high)


def rule_of_three(n: int) -> float:
    """The 95 % upper limit (a fraction of 1) of the rate of something that was seen in 0 of `n` trials.

    It is 3/n, from (1 - p)^n = 0.05, and at most 1: fewer than three trials exclude nothing.

    Source: J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong, is everything all right? Interpreting
    zero numerators", JAMA 249 (1983), 1743-1745.

    Raises ValueError for n < 1.
    """
    if n < 1:
        raise ValueError(f"0 of n needs n >= 1, got n={n}")
    return min(1.0, 3 / n)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, for use as the statistic of `bootstrap_interval`."""
    return math.fsum(values) / len(values)


def bootstrap_interval(
    values: Sequence[float],
    rng: random.Random,
    statistic: Statistic = median,
    level: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """The percentile-bootstrap interval of `statistic` (default: the median), in the unit of `values`.

    Below about 20 values it is too narrow; tables show the range for such n instead.

    Source: B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979), 1-26;
    B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

    Raises ValueError without values, for a level outside 0 to 1, or for fewer than one resample.
    """
    if not values:
        raise ValueError("a bootstrap needs at least one value")
    if resamples < 1:
        raise ValueError(f"a bootstrap needs at least one resample, got {resamples}")
    tail = (1 - _checked_level(level)) / 2
    drawn = sorted(statistic(rng.choices(values, k=len(values))) for _ in range(resamples))
    return Interval(_quantile(drawn, tail), _quantile(drawn, 1 - tail))


def paired_ratio(
    before: Sequence[float],
    after: Sequence[float],
    rng: random.Random,
    level: float = 0.95,
    resamples: int = 2000,
) -> Estimate:
    """The median of the ratios after/before of pairs measured side by side, with its bootstrap interval.

    Pairs are resampled whole, so what both halves of a pair share (a busy machine, a warm cache) cancels out.
    The ratio has no unit; below 1 means that `after` is smaller.

    Source: percentile bootstrap of paired data, Efron and Tibshirani (1993), chapters 8 and 13.

    Raises ValueError for sequences of different length, without pairs, or for a `before` that is not
    positive.
    """
    if len(before) != len(after):
        raise ValueError(f"pairs need as many values before as after, got {len(before)} and {len(after)}")
    if any(value <= 0 for value in before):
        raise ValueError("a ratio needs positive values before")
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    interval = bootstrap_interval(ratios, rng, level=level, resamples=resamples)
    return Estimate(median(ratios), interval.low, interval.high, len(ratios))


def sign_test(more: int, fewer: int) -> float:
    """The one-sided p-value of `more` pairs that rose against `fewer` that fell: the sign test, ties left out.

    The chance that at least `more` of all `more + fewer` pairs rise when rising and falling are equally likely; 1
    without a pair. It asks nothing of the figures' distribution, and a value of zero is as good as any other.

    Source: W. J. Dixon and A. M. Mood, "The statistical sign test", Journal of the American Statistical
    Association 41 (1946), 557-566.

    Raises ValueError for a negative count.
    """
    if more < 0 or fewer < 0:
        raise ValueError(f"a sign test counts pairs, got {more} and {fewer}")
    n = more + fewer
    tail: float = sum(math.comb(n, k) for k in range(more, n + 1)) / 2**n
    return tail


def _checked_level(level: float) -> float:
    """`level` itself when it is a confidence level, otherwise ValueError."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, got {level}")
    return level


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie, interpolated linearly."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # Written so that rounding can't leave the range low to high.
    return min(max(low + (high - low) * (position - below), low), high)
