"""Which moments are tried on a real disk, and what is said of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.power.power_proof import Proof, RealCut, lines, sample
from killtest.trace.step import Step

ALONE, FLUSHED = "ext4", "ext4, journal flushed"


def recorded(count: int) -> list[Step]:
    return [Step(k, k, 0.0, 1, "write", "write", "a") for k in range(1, count + 1)]


@given(st.integers(0, 40), st.integers(1, 40))
def test_sample_is_spread_over_the_recording_and_ends_behind_it(steps: int, count: int) -> None:
    chosen = sample(recorded(steps), count)
    assert chosen[-1] is None
    numbers = [one.k for one in chosen if one is not None]
    assert len(numbers) == min(steps, count)
    assert numbers == sorted(set(numbers))
    gaps = {later - earlier for earlier, later in pairwise(numbers)}
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (
            RealCut(3, "write a", ALONE, ("ext4",), rows=2, outcome="PASS"),
            "  ext4: before step 3, write a: as said, 2 rows; PASS after a start",
        ),
        (
            RealCut(None, "the end", FLUSHED, (), ("a",), 1, "FAIL", "2 lost"),
            "  ext4, journal flushed: right after the exit: other than said: a, 1 row; FAIL 2 lost after a start",
        ),
        (
            RealCut(4, "fsync a", ALONE, outcome="PASS"),
            "  ext4: before step 4, fsync a: as said, a store that can't be read; PASS after a start",
        ),
        (
            RealCut(3, "write a", ALONE, problem="this crawl did not get there"),
            "  ext4: before step 3, write a: not tried: this crawl did not get there",
        ),
    ],
)
def test_each_cut_is_told(cut: RealCut, said: str) -> None:
    assert list(lines(Proof([cut])))[-1] == said


def test_cuts_that_were_not_tried_are_not_counted() -> None:
    cuts = [RealCut(1, "x", ALONE), RealCut(2, "x", ALONE, differs=("a",)), RealCut(3, "x", ALONE, problem="no")]
    told = list(lines(Proof(cuts)))
    assert told[1] == "on a real ext4 (ext4): 1 of 2 cuts left byte for byte what the model says"
    assert told[2] == "on a real ext4 (ext4, journal flushed): 0 of 0 cuts left byte for byte what the model says"


def test_refusal_is_said_and_nothing_where_no_proof_was_asked_for() -> None:
    said = ["", "nothing was tried on a real ext4: it needs root; the states of the models stand as they are"]
    assert list(lines(Proof(refusal="it needs root"))) == said
    assert list(lines(None)) == []
