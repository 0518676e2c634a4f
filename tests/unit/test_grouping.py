"""The truth once for each group, and rows that say which group they are of."""

from pathlib import Path

import msgspec
import pytest
from evidence_builder import evidence, request, row, struck, truth
from killtest.errors import QueryError, UsageError
from killtest.judge import truth as truths
from killtest.judge.coverage import located
from killtest.judge.evidence import Evidence
from killtest.judge.grouping import grouped, names_of
from killtest.judge.verdict import judge
from killtest.plan.manifest import SiteNeeds, StoreNeeds, Subject
from killtest.plan.suitability import check_faults
from killtest.store import group_key
from killtest.store import snapshot as snapshots
from killtest.store.rows import Row, Rows
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

NAMES = ("a", "b")


def of(group: object, number: int) -> Row:
    """A sound row of that product in that group, as it comes out of a store."""
    plain = row(number)
    return replace(plain, values={**plain.values, "job": group})  # type: ignore[dict-item]


def keyed(*rows: Row) -> list[Row]:
    return list(group_key.grouped(Rows(rows), "job").rows)


def all_of(*groups: str) -> list[Row]:
    return [of(group, number) for group in groups for number in range(1, 6)]


def trial(rows: list[Row], times: int = 2) -> Evidence:
    """A shop of five products crawled for two groups, each page asked for so many times."""
    paths = ["/list/0", *(f"/product/{number}" for number in range(1, 6))] * times
    asked = [request(seq, path) for seq, path in enumerate(paths, 1)]
    return evidence(keyed(*rows), requests=asked, shop=grouped(truth(), NAMES))


def test_key_gets_its_group_in_front() -> None:
    rows = keyed(of("a", 1), of(7, 1), of(None, 2), Row(None, {"job": "a"}, "row 4"))
    assert [one.key for one in rows] == ["a/SKU-00001", "7/SKU-00001", "(no job)/SKU-00002", None]


def test_column_that_no_row_has_is_the_manifests_mistake() -> None:
    with pytest.raises(QueryError, match="no column 'batch' for the group, only sku, title, price, job"):
        group_key.grouped(Rows((of("a", 1),)), "batch")
    assert group_key.grouped(Rows(), "batch") == Rows()


def test_groups_are_the_most_frequent_values_of_the_last_readable_snapshot() -> None:
    taken = Snapshot(0, (of("b", 1), of("a", 1), of("c", 1), of("c", 2), of(None, 1)))
    late = Snapshot(1, error="torn")
    assert names_of([Snapshot(9, (of("z", 1),)), taken, late], "job", 2) == ("c", "a")
    assert names_of([taken], "job", 4) == ("c", "a", "b", "(group 4 of 4)")
    assert names_of([late], "job", 2) == ("(group 1 of 2)", "(group 2 of 2)")
    joker = Snapshot(1, (of("(group 2 of 3)", 1),))
    assert names_of([joker], "job", 3) == ("(group 2 of 3)", "((group 2 of 3))", "(group 3 of 3)")


def test_each_product_is_wanted_once_for_each_group() -> None:
    told = grouped(truth(), NAMES)
    assert (told.minimum, told.groups, len(told.rows)) == (12, 2, 10)
    assert [one.key for one in told.rows[4:6]] == ["a/SKU-00005", "b/SKU-00001"]
    assert told.rows[5].pages == ("/product/1",)


@pytest.mark.parametrize("groups", [1, 2])
def test_truth_with_groups_is_read_back(groups: int, tmp_path: Path) -> None:
    told = truth() if groups == 1 else grouped(truth(), NAMES)
    (tmp_path / "truth.json").write_bytes(truths.to_json(told))
    found = truths.read(tmp_path / "truth.json")
    assert isinstance(found.rows, truths.Shelf)  # by the fast way
    assert (found.minimum, found.groups, tuple(found.rows)) == (told.minimum, told.groups, told.rows)
    assert (b'"groups"' in truths.to_json(told)) is (groups > 1)
    assert groups > 1 or truths.to_json(told) == msgspec.json.encode(told) + b"\n"


def test_all_groups_complete_is_a_pass_and_one_request_for_each_repeats_nothing() -> None:
    verdict = judge(trial(all_of("a", "b")))
    assert verdict.outcome == "PASS"
    assert verdict.traffic is not None
    assert (verdict.traffic.requests, verdict.traffic.minimum, verdict.traffic.repeated) == (12, 12, 0)
    again = judge(trial(all_of("a", "b"), times=3)).traffic
    assert again is not None
    assert again.repeated == 6


def test_row_that_one_group_lacks_is_lost_there_and_a_row_too_many_is_doubled_there() -> None:
    rows = [one for one in all_of("a", "b") if one != of("b", 3)]
    data = judge(trial([*rows, of("a", 2)])).data
    assert data is not None
    assert data.lost == {"b/SKU-00003": "answered"}
    assert data.duplicated == {"a/SKU-00002": 1}


def test_rows_of_a_group_too_many_and_of_none_are_unexpected() -> None:
    data = judge(trial([*all_of("a", "b"), of("c", 1), of(None, 2)])).data
    assert data is not None
    assert data.unexpected == {"(no job)/SKU-00002": 1, "c/SKU-00001": 1}


# The second group's first product is answered at 8.001 s.
@pytest.mark.parametrize(
    ("stored", "window", "killed_s"),
    [
        (("a", "b"), "idle", 100.0),
        (("a",), "between", 100.0),
        (("a",), "between", 8.001),
        (("a",), "idle", 7.5),
    ],
)
def test_kill_is_between_an_answer_and_its_row_when_pages_were_answered_more_often_than_stored(
    stored: tuple[str, ...], window: str, killed_s: float
) -> None:
    told = trial([of(group, number) for group in stored for number in range(1, 6)])
    killed = replace(told.course.incarnations[0], exit=-9, ended_by="fault", ended_s=killed_s)
    strike = replace(struck(), t_s=killed_s)
    course = replace(told.course, incarnations=(killed,), faults=(strike,))
    assert located(course, told.truth, told.requests).faults[0].window == window


def test_snapshot_of_a_store_with_groups(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "out.jsonl").write_text('{"sku": "S", "job": "a"}\n{"sku": "S", "job": "b"}\n')
    needs = StoreNeeds("jsonl", "out.jsonl", key="sku", group="job", groups=2)
    found = snapshots.take(needs, tmp_path / "store", tmp_path / "copy", 0)
    assert [one.key for one in found.rows] == ["a/S", "b/S"]
    wrong = snapshots.take(replace(needs, group="batch"), tmp_path / "store", tmp_path / "copy", 0)
    assert wrong.is_mistake
    assert wrong.error == "store: no column 'batch' for the group, only sku, job"


def test_changed_page_is_refused_where_its_version_could_not_be_told() -> None:
    store = StoreNeeds("jsonl", "out.jsonl", key="sku", group="job", groups=2)
    who = Subject("tiny", ("true",), store)
    with pytest.raises(UsageError, match="a changed page can't be judged where the rows of tiny are there for each"):
        check_faults(["request:1 bump:/product/1"], who, SiteNeeds(), "here")
