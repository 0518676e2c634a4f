"""Delta debugging: what is left fails, and fails no more without any one of its items."""

from hypothesis import given
from hypothesis import strategies as st
from killtest.shrink.ddmin import ddmin

ITEMS = tuple(range(12))


@given(st.sets(st.sampled_from(ITEMS), min_size=1))
def test_exactly_the_culprits_are_left_in_their_order(culprits: set[int]) -> None:
    assert ddmin(ITEMS, lambda part: culprits <= set(part)) == tuple(sorted(culprits))


@given(st.sets(st.integers(1, 2**8 - 1)))
def test_what_is_left_fails_and_is_1_minimal_whatever_fails(bad: set[int]) -> None:
    """Also where more does not mean worse: `bad` holds the failing parts of eight items as bit masks."""
    everything = tuple(range(8))

    def fails(part: tuple[int, ...]) -> bool:
        assert part, "nothing at all was tried"
        return part == everything or sum(1 << item for item in part) in bad

    left = ddmin(everything, fails)
    assert fails(left)
    rests = [left[:i] + left[i + 1 :] for i in range(len(left))]
    assert not any(fails(rest) for rest in rests if rest)


@given(st.integers(0, 63))
def test_one_culprit_of_many_takes_logarithmic_time(culprit: int) -> None:
    tried: list[tuple[int, ...]] = []
    ddmin(tuple(range(64)), lambda part: not tried.append(part) and culprit in part)  # type: ignore[func-returns-value]
    assert len(tried) <= 2 * 6


def test_one_item_is_not_tried_at_all() -> None:
    assert ddmin("a", lambda part: part == ("nothing is asked",)) == ("a",)
