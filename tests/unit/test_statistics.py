"""Intervals against published values and against the properties that define them."""

from __future__ import annotations

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.report.statistics import (
    bootstrap_interval,
    mean,
    paired_ratio,
    rule_of_three,
    sign_test,
    wilson_interval,
)

FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (1, 5, 0.0362, 0.6245),
        # R. G. Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_known_values(k: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(k, n)
    assert [interval.low, interval.high] == pytest.approx([low, high], abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_stays_inside_0_to_1_and_is_symmetric(counts: tuple[int, int]) -> None:
    k, n = counts
    interval, mirrored = wilson_interval(k, n), wilson_interval(n - k, n)
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_wilson_narrows_with_a_lower_level_and_with_more_trials(level: float) -> None:
    assert wilson_interval(3, 10, level).high < wilson_interval(3, 10).high
    assert wilson_interval(30, 100, level).high < wilson_interval(3, 10, level).high


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_rate(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"k={k}, n={n}"):
        wilson_interval(k, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_lies_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="confidence level"):
        wilson_interval(1, 2, level)


def test_rule_of_three_is_3_over_n_and_at_most_1() -> None:
    assert [rule_of_three(n) for n in (1, 3, 10, 300)] == [1.0, 1.0, 0.3, 0.01]
    with pytest.raises(ValueError, match="n=0"):
        rule_of_three(0)


@given(st.integers(20, 5000))
def test_rule_of_three_is_close_to_the_exact_limit(n: int) -> None:
    assert rule_of_three(n) == pytest.approx(1 - 0.05 ** (1 / n), rel=0.1)


@given(FLOATS, st.integers(0, 9))
def test_bootstrap_stays_in_the_range_of_the_values_and_repeats_with_its_seed(values: list[float], seed: int) -> None:
    first = bootstrap_interval(values, random.Random(seed), resamples=50)
    again = bootstrap_interval(values, random.Random(seed), resamples=50)
    assert min(values) <= first.low <= first.high <= max(values)
    assert first == again


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = random.Random(1)
    samples = [[rng.gauss(10, 2) for _ in range(40)] for _ in range(200)]
    intervals = [bootstrap_interval(sample, rng, mean, level=0.9, resamples=300) for sample in samples]
    covered = sum(interval.low <= 10 <= interval.high for interval in intervals)
    assert 0.83 <= covered / 200 <= 0.96


def test_bootstrap_needs_values_and_resamples() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([], random.Random(1))
    with pytest.raises(ValueError, match="got 0"):
        bootstrap_interval([1.0], random.Random(1), resamples=0)


def test_paired_ratio_cancels_what_both_halves_of_a_pair_share() -> None:
    before = [1.0, 10.0, 100.0, 1000.0]
    estimate = paired_ratio(before, [2 * value for value in before], random.Random(1))
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (2.0, 2.0, 2.0, 4)


def test_paired_ratio_is_after_over_before() -> None:
    estimate = paired_ratio([2.0, 2.0, 2.0], [1.0, 3.0, 1.5], random.Random(1))
    assert estimate.value == median([0.5, 1.5, 0.75])
    assert 0.5 <= estimate.low <= estimate.value <= estimate.high <= 1.5


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [([1.0], [], "1 and 0"), ([0.0], [1.0], "positive"), ([], [], "at least one value")],
)
def test_paired_ratio_refuses_what_makes_no_pairs(before: list[float], after: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_ratio(before, after, random.Random(1))


@pytest.mark.parametrize(("more", "fewer", "p"), [(0, 0, 1.0), (7, 0, 1 / 128), (0, 7, 1.0), (9, 1, 11 / 1024)])
def test_sign_test_is_the_exact_binomial_tail(more: int, fewer: int, p: float) -> None:
    assert sign_test(more, fewer) == pytest.approx(p)


def test_sign_test_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="got -1 and 2"):
        sign_test(-1, 2)
