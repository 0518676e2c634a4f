"""Rows made by code that had been replaced before: which are, by how much, and when nothing can be said."""

from collections.abc import Sequence

import pytest
from evidence_builder import evidence, incarnation, request, row, truth
from killtest.campaigns.story import headline, verdict_lines
from killtest.campaigns.trial_line import to_line
from killtest.judge.course import Incarnation, Revision
from killtest.judge.evidence import Evidence
from killtest.judge.oracle import Data, judge_data
from killtest.judge.request_log import Request
from killtest.judge.verdict import judge
from killtest.plan.campaign import Planned
from killtest.plan.manifest import StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from killtest.store.rows import Row, Value
from msgspec.structs import replace

# Product N is asked for at second N + 1; the code of instance 0 changes between products 2 and 3, and before 5.
TWICE = (Revision(0, 2, 3.5), Revision(0, 3, 5.5))


def told(
    revisions: Sequence[Value],
    changes: tuple[Revision, ...] = TWICE,
    more: Sequence[Request] = (),
    incarnations: tuple[Incarnation, ...] = (incarnation(),),
    extra: Sequence[Row] = (),
    pages: int = 1,
) -> Evidence:
    """A clean crawl of five products, whose rows say that they were made by these revisions."""
    rows = [row(number, revision=revision) for number, revision in enumerate(revisions, 1)]
    paths = ["/list/0", *(f"/{'view' if pages == 2 else 'product'}/{number}" for number in range(1, 6))]
    asked = [request(seq, path) for seq, path in enumerate(paths, 1)]
    shop = truth(pages=pages)
    return evidence([*rows, *extra], requests=[*asked, *more], revisions=changes, incarnations=incarnations, shop=shop)


def old(*args: Sequence[Value], **facts: object) -> dict[str, str]:
    return judge_data(told(*args, **facts)).old_code  # type: ignore[arg-type]


def test_rows_of_the_code_that_was_in_place_are_not_old() -> None:
    assert old([1, 1, 2, 2, 3]) == {}


def test_row_of_replaced_code_tells_how_long_ago_it_was_replaced() -> None:
    data = judge_data(told([1, 1, 1, 1, 2]))
    assert data.old_code == {
        "SKU-00003": "revision 1 stored, asked for 0.50 s after revision 2 was in place",
        "SKU-00004": "revision 1 stored, asked for 1.50 s after revision 2 was in place",
        "SKU-00005": "revision 2 stored, asked for 0.50 s after revision 3 was in place",
    }
    assert data.old_code_s == 1.5


def test_it_is_a_cost_and_no_finding() -> None:
    assert not judge_data(told([1] * 5)).has_finding
    assert judge(told([1] * 5)).outcome == "PASS"


def test_without_a_change_or_a_column_nothing_is_old() -> None:
    assert old([1] * 5, changes=()) == {}
    assert judge_data(told([None] * 5)).old_code_s is None
    assert old(["one", "", "-1", 1.5, True]) == {}
    assert old(["9" * 5000, None, "1" * 5000, None, None]) == {}


def test_revision_may_be_text() -> None:
    assert list(old(["1", "1", "1", "2", "3"])) == ["SKU-00003"]


def test_every_request_for_the_page_must_have_come_after_the_change() -> None:
    # The first may have been the one that the row was made of.
    assert old([1, 1, 1, 2, 3], more=[request(2, "/product/3")]) == {}
    later = request(9, "/product/3")
    assert old([1, 1, 1, 2, 3], more=[later]) == {
        "SKU-00003": "revision 1 stored, asked for 0.50 s after revision 2 was in place"
    }


def test_change_at_the_very_moment_of_the_request_was_in_place() -> None:
    assert old([1] * 5, changes=(Revision(0, 2, 6.0),)) == {
        "SKU-00005": "revision 1 stored, asked for 0.00 s after revision 2 was in place"
    }


def test_request_that_is_none_for_a_page_made_no_row() -> None:
    head = replace(request(2, "/product/3"), kind="other")
    assert list(old([1, 1, 1, 2, 3], more=[head])) == ["SKU-00003"]


def test_change_of_another_instance_makes_nothing_old() -> None:
    assert old([1] * 5, changes=(Revision(1, 2, 0.0),)) == {}
    both = (incarnation(0), incarnation(1, instance=1))
    asked = [request(7, "/product/4", incarnation=1)]
    # Instance 1 still had revision 1 when it asked for product 4; both had replaced it when they asked for 5.
    changes = (Revision(0, 2, 1.0), Revision(1, 2, 7.5))
    more = [*asked, request(8, "/product/5", incarnation=1)]
    found = told([2, 2, 2, 1, 1], changes=changes, more=more)
    course = found.course
    data = judge_data(
        Evidence(
            type(course)(course.ending, both, (), (*course.snapshots, course.snapshots[0]), revisions=changes),
            found.truth,
            found.requests,
            0,
            False,
        )
    )
    assert data.old_code == {"SKU-00005": "revision 1 stored, asked for 0.50 s after revision 2 was in place"}


def test_last_page_of_a_product_is_the_one_that_counts() -> None:
    early = [request(seq, f"/product/{seq - 20}") for seq in range(21, 26)]
    assert list(old([1, 1, 1, 2, 3], more=early, pages=2)) == ["SKU-00003"]


def test_of_several_rows_of_a_key_the_one_that_lags_most_is_told() -> None:
    again = row(5, revision=2)
    assert old([1, 1, 2, 2, 1], extra=[again]) == {
        "SKU-00005": "revision 1 stored, asked for 2.50 s after revision 2 was in place"
    }


def test_row_without_a_request_or_of_no_product_says_nothing() -> None:
    stranger = Row("SKU-99999", {"revision": 1}, "row 9")
    nameless = Row(None, {"revision": 1}, "row 10")
    assert old([1, 1, 2, 2, 3], extra=[stranger, nameless]) == {}


def test_line_and_story_tell_it() -> None:
    found = told([1, 1, 1, 1, 3])
    planned = Planned(Subject("tiny", ("x",), StoreNeeds("jsonl", "o", key="sku")), Schedule("s"))
    line = to_line(planned, "c", judge(found), found) | {"evidence": None, "reproduce": "again"}
    assert (line["data"]["old_code"]["count"], line["data"]["old_code_s"]) == (2, 1.5)
    assert "2 made by old code up to 1.5 s later" in headline(line)
    assert any("old_code: SKU-00003 (revision 1 stored" in text for text in verdict_lines(line, None))  # type: ignore[arg-type]
    del line["data"]["old_code"]
    assert "old code" not in headline(line)


@pytest.mark.parametrize("name", ["old_code", "old_code_s"])
def test_unreadable_store_says_nothing_of_it(name: str) -> None:
    assert getattr(Data(None, 0, 5, {}, {}, {}, {}, {}, {}, {}, {}, (), ()), name) in ({}, None)
