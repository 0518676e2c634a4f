"""Answers that go wrong on purpose, as bytes and as plans."""

from __future__ import annotations

import pytest
from killtest_testsite.misbehaviour import Misbehaviour, Misdeeds
from killtest_testsite.misdeeds import slow
from killtest_testsite.misdeeds.spoiled import Spoiled
from killtest_testsite.trigger import Trigger

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


def taken(misdeeds: Misdeeds, path: str) -> Misbehaviour | None:
    found = misdeeds.take(path)
    return found and found.misbehaviour


def test_an_answer_is_cut_inside_its_body() -> None:
    assert Misbehaviour("truncate", 2).spoil(ANSWER) == Spoiled(ANSWER[:-3], "closed")
    assert Misbehaviour("truncate", 0).spoil(ANSWER).data.endswith(b"\r\n\r\n")
    assert Misbehaviour("truncate", 99).spoil(ANSWER).data == ANSWER
    assert Misbehaviour("reset").spoil(ANSWER) == Spoiled(b"", "reset")


def test_an_error_page_keeps_what_is_said_of_the_connection() -> None:
    head, _, body = Misbehaviour("status", status=503, retry_after_s=7).spoil(ANSWER).data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 503 Service Unavailable"
    assert b"Retry-After: 7" in lines
    assert b"Connection: close" in lines
    assert f"Content-Length: {len(body)}".encode() in lines
    assert Misbehaviour("status", status=599).spoil(ANSWER).data.startswith(b"HTTP/1.1 599 Error\r\n")


def test_an_answer_without_a_body_is_replaced_by_one_without() -> None:
    assert Misbehaviour("status", status=500).spoil(ANSWER[:-5]).data.endswith(b"\r\n\r\n")


def test_a_slow_body_comes_in_pieces_that_keep_its_speed() -> None:
    pieces = list(slow.pieces(ANSWER, 20))
    assert b"".join(piece for _, piece in pieces) == ANSWER
    assert pieces[0] == (0, ANSWER[:-5])
    assert sum(delay_s for delay_s, _ in pieces) == pytest.approx(5 / 20)
    assert b"".join(piece for _, piece in slow.pieces(ANSWER, 1)) == ANSWER


def test_a_drawn_delay_belongs_to_seed_and_page() -> None:
    drawn = Misbehaviour("latency", delay_s=(0.1, 0.8))
    waits = [drawn.wait_s(1, f"/product/{n}") for n in range(1, 200)]
    assert waits == [drawn.wait_s(1, f"/product/{n}") for n in range(1, 200)]
    assert waits != [drawn.wait_s(2, f"/product/{n}") for n in range(1, 200)]
    assert len(set(waits)) == 199
    assert 0.1 <= min(waits) < 0.15
    assert 0.75 < max(waits) <= 0.8
    assert Misbehaviour("latency", delay_s=(1.2, 1.2)).wait_s(1, "/list/0") == 1.2


@pytest.mark.parametrize("kind", ["latency", "status", "truncate", "slow", "redirect"])
def test_what_a_kind_needs_is_asked_for(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} needs"):
        Misbehaviour(kind)  # type: ignore[arg-type]


def test_a_misdeed_happens_as_often_as_planned() -> None:
    misdeeds, reset = Misdeeds(), Misbehaviour("reset")
    misdeeds.plan("/product/1", reset, 2)
    assert [taken(misdeeds, "/product/1") for _ in range(3)] == [reset, reset, None]
    assert misdeeds.take("/product/2") is None


def test_a_misdeed_without_a_number_happens_until_it_is_taken_back() -> None:
    misdeeds, reset = Misdeeds(), Misbehaviour("reset")
    misdeeds.plan("/product/1", reset, None)
    assert [taken(misdeeds, "/product/1") for _ in range(3)] == [reset] * 3
    misdeeds.forget("/product/1")
    assert misdeeds.take("/product/1") is None


def test_a_pattern_counts_for_each_page_and_is_met_first_once() -> None:
    misdeeds = Misdeeds()
    misdeeds.plan("/product/*", Misbehaviour("reset"), 1, "every product")
    found = [misdeeds.take(path) for path in ("/product/1", "/product/1", "/product/22", "/list/0")]
    assert [one and (one.name, one.is_first) for one in found] == [
        ("every product", True),
        None,
        ("every product", False),
        None,
    ]


def test_of_several_the_one_planned_first_is_used_up_first_and_a_delay_goes_beside() -> None:
    misdeeds = Misdeeds()
    kinds = (("a", "status", {"status": 503}), ("b", "status", {"status": 429}), ("c", "latency", {"delay_s": (1, 1)}))
    for name, kind, fields in kinds:
        misdeeds.plan("/product/1", Misbehaviour(kind, **fields), 1, name)  # type: ignore[arg-type]
    found = [misdeeds.take("/product/1") for _ in range(3)]
    assert [one and one.name for one in found] == ["a", "b", None]
    delay = misdeeds.take_delay("/product/1")
    assert delay is not None
    assert delay.name == "c"
    assert misdeeds.take_delay("/product/1") is None


def test_a_trigger_strikes_by_number_or_by_number_for_its_path() -> None:
    assert [Trigger("request", 2).strikes("/list/0", n, 1) for n in (1, 2, 3)] == [False, True, False]
    second = Trigger("request", 2, "/product/7")
    assert second.strikes("/product/7", 40, 2)
    assert not second.strikes("/product/7", 2, 1)
    assert not second.strikes("/product/8", 2, 2)
