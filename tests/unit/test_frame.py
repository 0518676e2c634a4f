"""The ledger as a data frame and as CSV."""

from __future__ import annotations

import csv
import io
import random
import sys

import pytest
from killtest.errors import UsageError
from killtest.report.frame import ledger_frame, plan_by_label, rows_committed_by_killed, trials_csv
from ledger_lines import control, failed, trial, unknown


def test_one_row_per_trial_with_the_figures_of_its_line() -> None:
    frame = ledger_frame([failed("naive", 3, data={"rows_after": [95, 600]}, traffic={"baseline": 530})])
    row = frame.iloc[0]
    assert (row["subject"], row["number"], row["outcome"], row["rows"]) == ("naive", 3, "FAIL", 600)
    assert (row["duplicated"], row["lost"], row["over_minimum"]) == (100, 0, 101)
    assert (row["rows_per_product"], row["rows_by_killed"]) == (1.2, 95)
    assert (row["kills_planned"], row["kills_struck"], row["kills_waiting"]) == (1, 1, 1)
    assert (row["kills_between"], row["kills_commit"], row["kills_danger"]) == (0, 0, 1)


def test_starts_again_after_the_end_are_no_killed_incarnations() -> None:
    line = trial(data={"rows_after": [95, 500, 600, 700]})
    line["incarnations"] = [{"again": False}, {"again": False}, {"again": True}, {"again": True}]
    assert rows_committed_by_killed(line) == 95
    line["incarnations"][1]["again"] = True
    assert rows_committed_by_killed(line) == 0


def test_lines_from_before_a_figure_was_kept_have_none() -> None:
    old, new = trial(number=1), trial(number=2, processes={"orphans": 0, "zombies": 0, "ports": 2}, ending_detail="x")
    del old["data"]["stale"]
    frame = ledger_frame([old, new])
    assert list(frame["ports"]) == [None, 2]
    assert list(frame["stale"]) == [None, 0]
    assert list(frame["ending_detail"]) == [None, "x"]


def test_the_order_of_finishing_does_not_matter() -> None:
    lines = [trial(subject, n) for subject in ("naive", "idempotent") for n in (1, 2, 10)]
    lines += [control("naive"), unknown("naive", 4)]
    shuffled = random.Random(3).sample(lines, len(lines))
    assert trials_csv(lines) == trials_csv(shuffled)
    naive = [row for row in csv.DictReader(io.StringIO(trials_csv(shuffled))) if row["subject"] == "naive"]
    assert [row["schedule"] for row in naive][1:] == [f"start-KILL-{n}" for n in (1, 2, 4, 10)]
    assert naive[0]["control"] == "True"


def test_csv_has_no_blank_and_keeps_integers_although_a_trial_has_none() -> None:
    rows = list(csv.DictReader(io.StringIO(trials_csv([trial(number=1), unknown(number=2)]))))
    assert [row["rows"] for row in rows] == ["500", "NA"]
    assert [row["outcome"] for row in rows] == ["PASS", "UNKNOWN"]
    assert all(cell != "" for row in rows for cell in row.values())


def test_a_line_without_an_outcome_is_unknown() -> None:
    assert list(ledger_frame([trial(outcome=None)])["outcome"]) == ["UNKNOWN"]


def test_no_lines_give_an_empty_frame_with_all_columns() -> None:
    frame = ledger_frame([])
    assert len(frame) == 0
    assert {"outcome", "rows", "kills_struck"} <= set(frame.columns)


def test_a_variant_is_part_of_the_label() -> None:
    assert list(ledger_frame([trial(variant="short_lease")])["label"]) == ["naive:short_lease"]


def test_a_trial_that_occurs_twice_is_refused_since_counts_would_be_wrong() -> None:
    with pytest.raises(UsageError, match="naive--start-KILL-1 of campaign article is in the ledger twice"):
        ledger_frame([trial(), trial()])


@pytest.mark.parametrize(
    ("rows_after", "expected"),
    [([500], 0), ([1, 2, 500], 2), ([1, None, 500], None), ([], None), (None, None)],
)
def test_rows_committed_by_killed_incarnations(rows_after: list[int | None] | None, expected: int | None) -> None:
    assert rows_committed_by_killed(trial(data={"rows_after": rows_after})) == expected


@pytest.mark.parametrize("package", ["pandas", "tabulate", "matplotlib"])
def test_a_missing_package_names_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"need {package}.*pip install 'killtest\[report\]'"):
        ledger_frame([trial()])


def test_a_subject_that_the_plan_knows_by_its_path_is_planned_under_its_label() -> None:
    line = trial(
        "mine", variant="slow", reproduce="killtest run ./crawlers/mine:slow --site products=5 --fault 'x KILL'"
    )
    plan = {("./crawlers/mine:slow", "start-KILL"): ["start-KILL-1"], ("idempotent", "start-KILL"): ["start-KILL-1"]}
    assert list(plan_by_label(plan, [line, control()])) == [("mine:slow", "start-KILL"), ("idempotent", "start-KILL")]
