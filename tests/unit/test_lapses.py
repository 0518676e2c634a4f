"""Pages that were in two hands: which they are, whose they were, and what is said of them."""

from typing import Any

import pytest
from evidence_builder import crawl, request, struck
from killtest.judge.lapses import SHOWN, Lapse, Lapses, Watch
from killtest.judge.request_log import Request
from killtest.judge.traffic import count
from killtest.report.headings import words
from killtest.report.lapses import lapse_lines, lapsed_pages
from ledger_lines import trial
from msgspec import to_builtins
from msgspec.structs import replace


def lapses(*asked: Request, watch: Watch | None = None, groups: int = 1) -> Lapses:
    return count(asked, 6, None, 5, groups, watch).lapsed


def on(connection: int, asked: Request) -> Request:
    return replace(asked, conn=connection)


def test_a_clean_crawl_has_none() -> None:
    assert lapses(*crawl()) == Lapses()


def test_a_page_that_is_asked_for_while_it_is_being_fetched_is_named_with_both() -> None:
    slow, other = request(2, "/product/1", ended_s=9.0), on(5, request(6, "/product/1", incarnation=1))
    [one] = lapses(*crawl(), slow, other, watch=Watch(began_s=1.0)).leases[-1:]
    assert one == Lapse("/product/1", 1.0, 0, 1, 4.0, 1, 5, "open")


def test_what_is_still_open_outlasts_everything() -> None:
    asked = [request(2, "/product/1", ended_s=None), request(3, "/product/1", incarnation=1)]
    asked += [request(4, "/product/1", incarnation=2)]
    assert [(one.began_s, one.first) for one in lapses(*asked).leases] == [(2.0, "open"), (2.0, "open")]


def test_a_repetition_in_the_next_incarnation_is_none() -> None:
    assert lapses(request(2, "/product/1", outcome="held"), request(5, "/product/1", incarnation=1)).count == 0


@pytest.mark.parametrize(("outcome", "first"), [("held", "gone"), ("broken", "gone"), ("sent", "answered")])
def test_a_page_asked_for_again_in_one_incarnation_says_how_the_first_fared(outcome: str, first: str) -> None:
    found = lapses(request(2, "/product/1", outcome=outcome), request(5, "/product/1"))
    assert [(one.first, one.after_s) for one in found.leases] == [(first, 3.0)]


def test_a_retry_of_what_the_site_refused_or_broke_is_none() -> None:
    again = request(5, "/product/1")
    refused = replace(request(2, "/product/1"), status=503)
    cut = replace(request(2, "/product/1", outcome="broken"), misbehaviour=("truncate:/product/1=100*1",))
    slow = replace(request(2, "/product/1", outcome="broken"), misbehaviour=("latency:/product/1=2",))
    assert [lapses(one, again).count for one in (refused, cut, slow)] == [0, 0, 1]


def test_the_signal_that_found_the_page_in_flight_is_named() -> None:
    blow = replace(struck("request:/product/2 KILL scope=owner"), t_s=2.5)
    pair = (request(2, "/product/2", outcome="held"), request(5, "/product/2"))
    elsewhere = replace(blow, in_flight=("/product/1",))
    others = (elsewhere, replace(blow, t_s=1.5), replace(blow, t_s=5.5), replace(blow, incarnation=1))
    named = [lapses(*pair, watch=Watch([one])).leases[0].fault for one in (blow, *others, replace(blow, scope=None))]
    assert named == [blow.planned, None, None, None, None, None]


def test_requests_count_in_whatever_order_they_come() -> None:
    asked = [request(2, "/product/1", ended_s=9.0), request(3, "/product/1"), request(9, "/product/1")]
    assert lapses(*asked) == lapses(*reversed(asked))
    assert [one.first for one in lapses(*asked).leases] == ["open", "answered"]


def test_several_crawls_of_one_shop_may_ask_for_a_page_at_a_time() -> None:
    asked = [request(2, "/product/1", ended_s=9.0), request(3, "/product/1")]
    assert lapses(*asked, groups=2) == Lapses()


def test_no_more_are_kept_than_the_ledger_shows() -> None:
    pages = [f"/product/{number}" for number in range(30)]
    asked = [request(seq, path) for seq, path in enumerate(pages * 2, 1)]
    found = lapses(*asked)
    assert (found.count, len(found.leases), found.leases[-1].url) == (30, SHOWN, "/product/19")


def line(*leases: Lapse, beyond: int = 0) -> dict[str, Any]:
    told = trial("idempotent")
    told["traffic"] |= {"lapsed": to_builtins(Lapses(len(leases) + beyond, leases))}
    return told


ONE = Lapse("/product/7", 1.0, 0, 3, 3.14, 0, 5, "gone", "request:/product/7 KILL scope=owner")


def test_it_is_told_who_took_over_from_whom() -> None:
    said = (
        "lease of /product/7 lapsed after 3.1 s: taken over by connection 5 of incarnation 0 from connection 3 of "
        "incarnation 0, which had gone without an answer; struck meanwhile: request:/product/7 KILL scope=owner"
    )
    assert lapse_lines(line(ONE)) == [said]
    assert lapsed_pages([trial(), line(ONE)], words("en")) == [
        "Pages in two hands (1; the first of each trial):",
        f"- idempotent--start-KILL-1: {said}",
    ]
    assert lapse_lines(line(*[ONE] * 6, beyond=3))[5:] == ["and 4 more"]


@pytest.mark.parametrize("first", ["open", "gone", "answered"])
def test_every_state_has_words_in_both_languages(first: Any) -> None:
    for lang in ("en", "zh"):
        assert "/product/7" in lapse_lines(line(replace(ONE, first=first, fault=None)), words(lang))[0]


def test_nothing_is_said_where_nothing_lapsed_or_nobody_counted() -> None:
    old = trial("naive")
    unknown = trial("naive") | {"traffic": None}
    assert [lapse_lines(one) for one in (line(), old, unknown)] == [[], [], []]
    assert lapsed_pages([line(), old, unknown], words("en")) == []
