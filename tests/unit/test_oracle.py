"""The oracle: each kind of damage gives exactly its finding, and none where there is none."""

from dataclasses import dataclass
from typing import Any

import pytest
from evidence_builder import CLEAN, crawl, evidence, product, request, row, struck
from hypothesis import given
from hypothesis import strategies as st
from killtest.judge import oracle
from killtest.judge.evidence import Evidence, FaultRecord, Request, located
from killtest.judge.oracle import Data, judge_data
from killtest.judge.truth import Product
from killtest.judge.verdict import Control, judge, worst
from killtest.process.launcher import Face
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

FINDINGS = ("lost", "missed", "duplicated", "corrupted", "unexpected", "vanished", "set_back")


def found(data: Data) -> dict[str, Any]:
    """The findings that are not empty."""
    return {name: getattr(data, name) for name in FINDINGS if getattr(data, name)}


def test_clean_crawl_has_no_finding() -> None:
    told = evidence(CLEAN)
    assert found(judge_data(told)) == {}
    assert judge(told).outcome == "PASS"


@dataclass
class Damage:
    """A damaged last snapshot, the requests behind it, and the findings it must give."""

    rows: list[Row] | Snapshot
    findings: dict[str, Any]
    requests: list[Request] | None = None


WITHOUT_3 = [one for one in CLEAN if one.key != "SKU-00003"]
NEVER_ASKED_3 = [one for one in crawl() if one.path != "/product/3"]
DAMAGES = {
    "row removed, page answered": Damage(WITHOUT_3, {"lost": {"SKU-00003": "answered"}}),
    "row removed, answer broken off": Damage(
        WITHOUT_3, {"lost": {"SKU-00003": "broken"}}, [*NEVER_ASKED_3, request(9, "/product/3", outcome="broken")]
    ),
    "row removed, request only held": Damage(
        WITHOUT_3, {"lost": {"SKU-00003": "held"}}, [*NEVER_ASKED_3, request(9, "/product/3", outcome="held")]
    ),
    "row removed, broken first and answered later": Damage(
        WITHOUT_3,
        {"lost": {"SKU-00003": "answered"}},
        [*NEVER_ASKED_3, request(8, "/product/3", outcome="broken"), request(9, "/product/3")],
    ),
    "row removed, page never requested": Damage(WITHOUT_3, {"missed": {"SKU-00003": "never requested"}}, NEVER_ASKED_3),
    "row three times": Damage([*CLEAN, row(2), row(2)], {"duplicated": {"SKU-00002": 2}}),
    "value from no version": Damage(
        [row(1, price="9.99"), *CLEAN[1:]], {"corrupted": {"SKU-00001": "price is '9.99', served: '1.00'"}}
    ),
    "value missing": Damage(
        [row(1, title=None), *CLEAN[1:]], {"corrupted": {"SKU-00001": "title is None, served: 'Té 1'"}}
    ),
    "row without a key": Damage([*CLEAN, Row(None, {"price": "1"}, "row 6")], {"corrupted": {"row 6": "no key"}}),
    "place that cannot be read": Damage(
        Snapshot(0, tuple(CLEAN), ("line 6: JSON is malformed",)), {"corrupted": {"line 6": "JSON is malformed"}}
    ),
    "key of no product": Damage([*CLEAN, Row("SKU-99999", {}, "row 6")], {"unexpected": {"SKU-99999": 1}}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_gives_exactly_its_finding(name: str) -> None:
    damage = DAMAGES[name]
    told = evidence(damage.rows, requests=damage.requests)
    assert found(judge_data(told)) == damage.findings
    assert judge(told).outcome == "FAIL"


def test_vanished_row_is_lost_as_well() -> None:
    told = evidence(CLEAN, WITHOUT_3)
    assert found(judge_data(told)) == {
        "lost": {"SKU-00003": "answered"},
        "vanished": {"SKU-00003": "stored after incarnation 0"},
    }


def test_row_that_went_and_came_back_is_a_cost() -> None:
    told = evidence(CLEAN, WITHOUT_3, CLEAN)
    assert found(judge_data(told)) == {"set_back": {"SKU-00003": "absent after incarnation 1"}}
    assert judge(told).outcome == "PASS"


def test_text_is_compared_after_nfc_and_trimming_and_prices_as_decimals() -> None:
    stored = [row(1, title=" Te\u0301 1\n", price="1.000"), *CLEAN[1:]]
    assert found(judge_data(evidence(stored))) == {}


def test_row_of_any_served_version_is_sound_and_a_mix_of_two_is_not() -> None:
    two = {
        "SKU-00001": Product("SKU-00001", ("/product/1",), ({"title": "a", "price": "1"}, {"title": "b", "price": "2"}))
    }
    for title, price, is_sound in (("a", "1", True), ("b", "2", True), ("a", "2", False)):
        snapshot = Snapshot(0, (Row("SKU-00001", {"title": title, "price": price}, "row 1"),))
        assert (oracle.corrupted_rows(snapshot, two) == {}) is is_sound


def test_other_columns_are_named_and_not_judged() -> None:
    data = judge_data(evidence([row(1, colour="red"), *CLEAN[1:]]))
    assert data.columns_not_judged == ("colour",)
    assert found(data) == {}


def test_product_of_two_pages_is_lost_as_far_as_its_worst_page_got() -> None:
    both = Product("SKU-00001", ("/product/1", "/view/1"), product(1).versions)
    truth = oracle.Truth(3, (both,))
    asked = [request(1, "/product/1"), request(2, "/view/1", outcome="held")]
    assert oracle.best_answers(truth, asked) == {"SKU-00001": "held"}


def test_rows_after_each_incarnation_are_told_and_unreadable_ones_are_null() -> None:
    told = evidence(WITHOUT_3, Snapshot(1, error="locked"), CLEAN)
    assert judge_data(told).rows_after == (4, None, 5)


def test_again_start_is_judged_apart() -> None:
    doubled = [*CLEAN, *CLEAN]
    verdict = judge(evidence(CLEAN, doubled, again=1, is_control=True))
    assert (verdict.outcome, verdict.not_idempotent) == ("PASS", True)
    assert judge(evidence(CLEAN, list(reversed(CLEAN)), again=1)).not_idempotent is False
    assert judge(evidence(CLEAN)).not_idempotent is None


def test_requests_of_again_starts_do_not_count() -> None:
    told = evidence(CLEAN, CLEAN, again=1, requests=[*crawl(), *crawl(incarnation=1, first_seq=20)])
    traffic = judge(told).traffic
    assert traffic is not None
    assert (traffic.requests, traffic.overlap) == (6, 0)


def test_of_a_store_that_cannot_be_read_nothing_is_claimed_lost() -> None:
    told = evidence(CLEAN, Snapshot(1, error="file is not a database"), ending="unreadable_store")
    data = judge_data(told)
    assert (data.rows, found(data)) == (None, {})
    assert judge(told).outcome == "FAIL"


def test_snapshot_that_could_not_be_read_in_between_sets_nothing_back() -> None:
    assert found(judge_data(evidence(CLEAN, Snapshot(1, error="locked"), CLEAN))) == {}


def test_placeholder_that_goes_again_has_not_vanished() -> None:
    assert found(judge_data(evidence([*CLEAN, Row("placeholder", {}, "row 6")], CLEAN))) == {}


def test_head_request_is_no_request_for_the_page() -> None:
    asked = [*NEVER_ASKED_3, replace(request(9, "/product/3"), method="HEAD", kind="other")]
    assert found(judge_data(evidence(WITHOUT_3, requests=asked))) == {"missed": {"SKU-00003": "never requested"}}


@pytest.mark.parametrize("price", ["sNaN", "NaN", "Infinity", "-", ""])
def test_price_that_is_no_number_is_corrupted(price: str) -> None:
    assert list(judge_data(evidence([row(1, price=price), *CLEAN[1:]])).corrupted) == ["SKU-00001"]


# What the site's log says of a fault


def test_in_flight_is_what_was_open_at_the_moment_of_the_strike() -> None:
    asked = [
        request(1, "/list/0"),
        request(2, "/product/1", ended_s=9.0),
        request(3, "/product/2", ended_s=9.0),
        request(5, "/product/3", ended_s=9.0),
    ]
    fault = replace(struck(), t_s=4.0, in_flight=())
    told = located(fault, asked)
    assert (told.in_flight, told.window, told.since_first_request_s) == (("/product/1", "/product/2"), "waiting", 3.0)


def test_start_up_and_idle_are_told_by_the_log() -> None:
    asked = [request(5, "/list/0")]
    early, idle = (located(replace(struck(), t_s=t), asked) for t in (4.0, 6.0))
    assert (early.status, early.window) == ("before_first_request", "start-up")
    assert (idle.status, idle.window) == ("struck", "idle")
    assert located(replace(struck(status="escalated"), t_s=6.0), asked).status == "escalated"


# The verdict


def test_false_done_needs_a_finished_ending_and_missing_rows() -> None:
    assert judge(evidence(WITHOUT_3)).false_done
    assert not judge(evidence(CLEAN)).false_done
    assert not judge(evidence(WITHOUT_3, ending="hung")).false_done


@pytest.mark.parametrize("ending", ["crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"])
def test_ending_alone_is_a_finding(ending: str) -> None:
    assert judge(evidence(CLEAN, ending=ending)).outcome == "FAIL"


def test_orphans_and_zombies_are_findings() -> None:
    left = (Face(9, "sleep 600"),)
    assert judge(evidence(CLEAN, orphans=left)).outcome == "FAIL"
    assert judge(evidence(CLEAN, zombies=left)).outcome == "FAIL"


def test_no_struck_fault_is_unknown_unless_the_data_are_bad() -> None:
    unreached = (FaultRecord("request:900 KILL", "not_reached"),)
    verdict = judge(evidence(CLEAN, faults=unreached))
    assert (verdict.outcome, verdict.cause) == ("UNKNOWN", "harness")
    assert judge(evidence(WITHOUT_3, faults=unreached)).outcome == "FAIL"


def test_one_struck_fault_is_enough() -> None:
    faults = (struck(), FaultRecord("request:900 KILL", "not_reached"))
    assert judge(evidence(CLEAN, CLEAN, faults=faults)).outcome == "PASS"


def test_blame_goes_to_the_control_when_it_fails_too() -> None:
    told = evidence(CLEAN, WITHOUT_3, faults=(struck(),))
    assert judge(told, Control("PASS", 6)).cause == "faults"
    assert judge(told, Control("FAIL", 6)).cause == "control"
    assert judge(evidence(WITHOUT_3, is_control=True)).cause == "control"


def test_baseline_comes_from_the_control() -> None:
    traffic = judge(evidence(CLEAN), Control("PASS", 6)).traffic
    assert traffic is not None
    assert (traffic.minimum, traffic.baseline, traffic.requests) == (6, 6, 6)


def test_worst_outcome_wins() -> None:
    assert worst(["PASS", "UNKNOWN", "FAIL"]) == "FAIL"
    assert worst(["PASS", "UNKNOWN"]) == "UNKNOWN"


# Properties


@st.composite
def damaged(draw: st.DrawFn) -> Evidence:
    """A crawl with some rows removed, some doubled, in any order."""
    rows = [one for one in CLEAN for _ in range(draw(st.integers(0, 3)))]
    return evidence(draw(st.permutations(rows)), requests=draw(st.permutations(crawl())))


@given(damaged())
def test_counts_add_up_and_order_does_not_matter(told: Evidence) -> None:
    data = judge_data(told)
    assert data.rows == data.distinct + sum(data.duplicated.values())
    assert data.distinct + len(data.lost) + len(data.missed) == data.products
    in_order = sorted(told.course.snapshots[0].rows, key=lambda one: one.key or "")
    assert found(judge_data(evidence(in_order))) == found(data)


@given(damaged(), st.integers(1, 5))
def test_more_damage_never_turns_fail_into_pass(told: Evidence, number: int) -> None:
    rows = [*told.course.snapshots[0].rows, row(number, price="0.01")]
    assert judge(evidence(rows)).outcome == "FAIL"


@given(st.sets(st.integers(1, 5)), st.sets(st.integers(1, 5)))
def test_removed_rows_are_exactly_lost_or_missed(removed: set[int], unasked: set[int]) -> None:
    rows = [row(i) for i in range(1, 6) if i not in removed]
    asked = [one for one in crawl() if one.path not in {f"/product/{i}" for i in unasked}]
    data = judge_data(evidence(rows, requests=asked))
    assert set(data.lost) == {f"SKU-{i:05}" for i in removed - unasked}
    assert set(data.missed) == {f"SKU-{i:05}" for i in removed & unasked}
