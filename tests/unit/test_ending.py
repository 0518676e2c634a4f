"""Why a trial ended as it did."""

from typing import Any

import pytest
from evidence_builder import CLEAN, crawl, evidence, incarnation, request
from killtest.judge.evidence import Incarnation, Request
from killtest.judge.verdict import judge


def detail(*incarnations: Incarnation, requests: list[Request] | None = None, **course: Any) -> str | None:
    told = evidence(*([CLEAN] * len(incarnations)), incarnations=incarnations, requests=requests or [], **course)
    return judge(told).ending_detail


def died(number: int, **changes: Any) -> Incarnation:
    return incarnation(number, **({"exit": 1} | changes))


def test_crash_loop_names_the_page_that_was_requested_last_every_time() -> None:
    asked = [
        request(3, "/image/9"),
        request(2, "/product/7"),
        request(1, "/list/0"),
        request(4, "/product/7", incarnation=1),
    ]
    assert detail(died(0), died(1), requests=asked, ending="crash_loop") == "/product/7"


@pytest.mark.parametrize(
    "asked",
    [
        [request(1, "/product/7"), request(2, "/product/8", incarnation=1)],
        [request(1, "/product/7")],
        [request(1, "/product/7"), request(2, "/image/7", incarnation=1)],
        [],
    ],
)
def test_crash_loop_without_one_such_page_names_none(asked: list[Request]) -> None:
    assert detail(died(0), died(1), requests=asked, ending="crash_loop") is None


def test_incarnations_that_did_not_die_of_themselves_do_not_count() -> None:
    asked = [request(n, f"/product/{n}", incarnation=n) for n in range(4)]
    others = [died(0, ended_by="fault"), died(1, ended_by="limit"), incarnation(2)]
    assert detail(*others, died(3), requests=asked, ending="crash_loop") == "/product/3"


def test_again_start_that_died_does_not_count() -> None:
    asked = [request(1, "/product/1"), request(2, "/product/2", incarnation=1)]
    assert detail(died(0), died(1, is_again=True), requests=asked, ending="crash_loop") == "/product/1"


def test_late_request_of_a_process_that_lived_on_was_not_the_last_before_the_crash() -> None:
    asked = [request(1, "/product/7"), request(2, "/product/9", late=True)]
    assert detail(died(0), requests=asked, ending="crash_loop") == "/product/7"


def test_refused_start_tells_its_exit_codes() -> None:
    told = detail(died(0, exit=3), died(1, exit=3), ending="refused_start")
    assert told == "exit code 3 before its first request"
    told = detail(died(0, exit=3), died(1, exit=-11), ending="refused_start")
    assert told == "exit codes 3, -11 before its first request"


def test_hung_tells_what_its_processes_wait_for_where_that_is_known() -> None:
    assert detail(incarnation(), ending="hung", hung_on=("a: futex", "b: pipe")) == "a: futex; b: pipe"
    assert detail(incarnation(), ending="hung") is None


@pytest.mark.parametrize("ending", ["finished", "out_of_time", "unreadable_store"])
def test_other_endings_speak_for_themselves(ending: str) -> None:
    assert detail(died(0), requests=crawl(), ending=ending, hung_on=("a",)) is None
