"""Answers that go wrong on purpose, as bytes and as plans."""

from __future__ import annotations

from killtest_testsite.misbehaviour import Misbehaviour, Misdeeds
from killtest_testsite.trigger import Trigger

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def test_an_answer_is_cut_inside_its_body() -> None:
    assert Misbehaviour("truncate", 2).cut(ANSWER) == ANSWER[:-3]
    assert Misbehaviour("truncate", 0).cut(ANSWER).endswith(b"\r\n\r\n")
    assert Misbehaviour("truncate", 99).cut(ANSWER) == ANSWER
    assert Misbehaviour("reset").cut(ANSWER) == b""


def test_a_misdeed_happens_as_often_as_planned() -> None:
    misdeeds, reset = Misdeeds(), Misbehaviour("reset")
    misdeeds.plan("/product/1", reset, 2)
    assert [misdeeds.take("/product/1") for _ in range(3)] == [reset, reset, None]
    assert misdeeds.take("/product/2") is None


def test_a_misdeed_without_a_number_happens_until_it_is_taken_back() -> None:
    misdeeds, reset = Misdeeds(), Misbehaviour("reset")
    misdeeds.plan("/product/1", reset, None)
    assert [misdeeds.take("/product/1") for _ in range(3)] == [reset] * 3
    misdeeds.plan("/product/1", reset, 0)
    assert misdeeds.take("/product/1") is None


def test_a_trigger_strikes_by_number_or_by_number_for_its_path() -> None:
    assert [Trigger("request", 2).strikes("/list/0", n, 1) for n in (1, 2, 3)] == [False, True, False]
    second = Trigger("request", 2, "/product/7")
    assert second.strikes("/product/7", 40, 2)
    assert not second.strikes("/product/7", 2, 1)
    assert not second.strikes("/product/8", 2, 2)
