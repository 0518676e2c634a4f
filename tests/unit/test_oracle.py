"""The oracle: each kind of damage gives exactly its finding, and none where there is none."""

from dataclasses import dataclass
from typing import Any

import pytest
from evidence_builder import CLEAN, crawl, evidence, product, request, row, struck
from killtest.judge.evidence import Request
from killtest.judge.oracle import Data, judge_data
from killtest.judge.truth import Truth
from killtest.judge.verdict import judge
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

FINDINGS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back")


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
    shop: Truth | None = None


TWO_VERSIONS = Truth(6, (*(product(i) for i in range(1, 5)), product(5, versions=2)))
NEW_5 = [*crawl(), request(9, "/product/5", version=1)]
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
    "places that say the same, or nothing": Damage(
        Snapshot(0, tuple(CLEAN), ("a: torn", "a: cut", "b")),
        {"corrupted": {"a": "torn", "a: cut": "cut", "b": "can't be read"}},
    ),
    "older than what was served": Damage(
        CLEAN, {"stale": {"SKU-00005": "version 0 stored, version 1 served"}}, NEW_5, TWO_VERSIONS
    ),
    "one of two rows corrupted, the other one stale": Damage(
        [*CLEAN, row(5, price="7")],
        {"duplicated": {"SKU-00005": 1}, "corrupted": {"SKU-00005": "price is '7', served: '5.00', '5.10'"}},
        NEW_5,
        TWO_VERSIONS,
    ),
    "row answered with an error page only": Damage(
        WITHOUT_3, {"lost": {"SKU-00003": "broken"}}, [*NEVER_ASKED_3, request(9, "/product/3", status=503)]
    ),
    "key of no product, twice": Damage(
        [*CLEAN, row(7), row(7), row(6)], {"unexpected": {"SKU-00006": 1, "SKU-00007": 2}}
    ),
    "key of no product": Damage([*CLEAN, Row("SKU-99999", {}, "row 6")], {"unexpected": {"SKU-99999": 1}}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_gives_exactly_its_finding(name: str) -> None:
    damage = DAMAGES[name]
    told = evidence(damage.rows, requests=damage.requests, shop=damage.shop)
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


def test_what_went_twice_was_stored_last_before_and_set_back_by_the_last_return() -> None:
    back = evidence(CLEAN, WITHOUT_3, WITHOUT_3, CLEAN, WITHOUT_3, CLEAN)
    assert found(judge_data(back)) == {"set_back": {"SKU-00003": "absent after incarnation 4"}}
    gone = evidence(CLEAN, WITHOUT_3, CLEAN, WITHOUT_3, WITHOUT_3)
    assert found(judge_data(gone))["vanished"] == {"SKU-00003": "stored after incarnation 2"}


def test_row_that_only_came_has_not_moved() -> None:
    assert found(judge_data(evidence(WITHOUT_3, WITHOUT_3, CLEAN))) == {}


def test_rows_of_an_again_start_neither_mend_nor_spoil() -> None:
    assert found(judge_data(evidence(CLEAN, [*CLEAN, row(1)], again=1))) == {}
    assert found(judge_data(evidence(WITHOUT_3, CLEAN, again=1))) == {"lost": {"SKU-00003": "answered"}}


def test_counts_of_the_rows() -> None:
    data = judge_data(evidence([row(1)], [*WITHOUT_3[:3], row(1), row(9)], requests=NEVER_ASKED_3))
    assert (data.rows, data.distinct, data.products) == (5, 3, 5)
    assert (len(data.lost), len(data.missed)) == (1, 1)


def test_worst_of_several_rows_of_a_key_is_reported_in_whatever_order() -> None:
    sound, old, wrong, worse = row(5, 1), row(5), row(5, price="7"), row(5, title="?", price="8")
    for rows in ([sound, old], [old, sound]):
        data = judge_data(evidence([*CLEAN[:4], *rows], requests=NEW_5, shop=TWO_VERSIONS))
        assert data.stale == {"SKU-00005": "version 0 stored, version 1 served"}
    for rows in ([old, wrong, worse], [worse, wrong, old], [wrong, worse, old]):
        data = judge_data(evidence([*CLEAN[:4], *rows], requests=NEW_5, shop=TWO_VERSIONS))
        assert (list(data.corrupted), data.stale) == (["SKU-00005"], {})
        assert data.corrupted["SKU-00005"].startswith("title is '?'")


def test_places_come_before_keys_and_keys_are_sorted() -> None:
    rows = [row(5, price="x"), row(2, price="x"), *CLEAN[2:4], CLEAN[0], Row(None, {}, "row 6")]
    assert list(judge_data(evidence(rows)).corrupted) == ["row 6", "SKU-00002", "SKU-00005"]


def test_damage_stays_when_a_row_without_a_key_stands_at_its_place() -> None:
    snapshot = Snapshot(0, (*CLEAN, Row(None, {}, "line 6")), ("line 6: torn",))
    assert judge_data(evidence(snapshot)).corrupted == {"line 6": "torn"}


def test_other_columns_are_named_and_not_judged() -> None:
    data = judge_data(evidence([row(1, colour="red", size=5), row(2, colour="red", weight=None), *CLEAN[2:]]))
    assert data.columns_not_judged == ("colour", "size", "weight")
    assert found(data) == {}


def test_rows_after_each_incarnation_are_told_and_unreadable_ones_are_null() -> None:
    told = evidence(WITHOUT_3, Snapshot(1, error="locked"), CLEAN)
    assert judge_data(told).rows_after == (4, None, 5)


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (list(reversed(CLEAN)), False),
        ([*CLEAN, *CLEAN], True),
        (WITHOUT_3, True),
        ([row(1, price="1.001"), *CLEAN[1:]], True),
        ([replace(CLEAN[0], key="SKU-9"), *CLEAN[1:]], True),
        ([replace(CLEAN[0], place="row 99"), *CLEAN[1:]], False),
        (Snapshot(1, tuple(CLEAN), ("line 6: torn",)), True),
        (Snapshot(1, error="locked"), True),
    ],
)
def test_again_start_is_judged_apart(after: list[Row] | Snapshot, changed: bool) -> None:
    verdict = judge(evidence(CLEAN, after, again=1, is_control=True))
    assert (verdict.outcome, verdict.not_idempotent) == ("PASS", changed)


def test_every_again_start_counts_and_without_one_nothing_is_known() -> None:
    assert judge(evidence(CLEAN, CLEAN, [*CLEAN, row(1)], again=2, is_control=True)).not_idempotent is True
    assert judge(evidence([], CLEAN, CLEAN, again=1, is_control=True)).not_idempotent is False
    assert judge(evidence([], [], CLEAN, CLEAN, again=1, is_control=True)).not_idempotent is False
    assert judge(evidence(CLEAN, [*CLEAN, row(1)], is_control=True)).not_idempotent is None


@pytest.mark.parametrize(
    ("rows", "after"), [(CLEAN, [*CLEAN, row(1)]), (CLEAN, []), (CLEAN, Snapshot(2, error="locked")), ([], CLEAN)]
)
def test_again_starts_of_a_trial_with_faults_change_nothing_in_its_verdict(
    rows: list[Row], after: list[Row] | Snapshot
) -> None:
    asked = [*crawl(), request(10, "/product/1", incarnation=1)]
    alone = judge(evidence([], rows, requests=asked, faults=(struck(),)))
    late = [*asked, *crawl(incarnation=2, first_seq=20)]
    told = judge(evidence([], rows, after, requests=late, faults=(struck(),), again=1))
    assert told.not_idempotent is None
    assert alone.data is not None
    assert told.data is not None
    assert replace(told.data, rows_after=alone.data.rows_after) == alone.data
    assert replace(told, data=alone.data) == alone


def test_of_a_store_that_cannot_be_read_nothing_is_claimed_lost() -> None:
    told = evidence(CLEAN, Snapshot(1, error="file is not a database"), ending="unreadable_store")
    data = judge_data(told)
    assert (data.rows, data.distinct, data.products, found(data)) == (None, 0, 5, {})
    assert judge(told).outcome == "FAIL"


def test_snapshot_that_could_not_be_read_in_between_sets_nothing_back() -> None:
    assert found(judge_data(evidence(CLEAN, Snapshot(1, error="locked"), CLEAN))) == {}


def test_placeholder_that_goes_again_has_not_vanished_nor_been_set_back() -> None:
    locked = [*CLEAN, Row("placeholder", {}, "row 6"), Row(None, {}, "row 7")]
    assert found(judge_data(evidence(locked, CLEAN))) == {}
    back = found(judge_data(evidence(locked, CLEAN, locked)))
    assert back == {"unexpected": {"placeholder": 1}, "corrupted": {"row 7": "no key"}}


def test_head_request_is_no_request_for_the_page() -> None:
    asked = [*NEVER_ASKED_3, replace(request(9, "/product/3"), method="HEAD", kind="other")]
    assert found(judge_data(evidence(WITHOUT_3, requests=asked))) == {"missed": {"SKU-00003": "never requested"}}


def test_again_start_that_was_given_up_on_says_nothing_about_idempotence() -> None:
    told = evidence(CLEAN, [], again=1, is_control=True)
    first, second = told.course.incarnations
    cut = replace(told.course, incarnations=(first, replace(second, ended_by="limit")))
    assert judge(replace(told, course=cut)).not_idempotent is None
