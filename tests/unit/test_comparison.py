"""The tables that compare subjects."""

from __future__ import annotations

from typing import Any

import pytest
from killtest.report.comparison import comparison_tables
from killtest.report.table import Cell, Table
from ledger_lines import control, failed, fault, trial, unknown


def tables(lines: list[dict[str, Any]], lang: str = "en") -> dict[str, Table]:
    """The comparison tables by name."""
    return {table.name: table for table in comparison_tables(lines, lang)}


def cells(table: Table, row: int = 0) -> dict[str, Cell]:
    """One row of a table by heading."""
    return dict(zip(table.headings, table.rows[row], strict=True))


def test_verdicts_count_unknown_neither_as_pass_nor_as_fail() -> None:
    lines = [failed(number=1), trial(number=2), trial(number=3), unknown(number=4)]
    row = cells(tables(lines)["verdicts"])
    assert (row["n"], row["PASS"], row["FAIL"], row["UNKNOWN"]) == (4, 2, 1, 1)
    assert row["FAIL rate [95 %]"] == "33 % [6.1 %–79 %]"


def test_a_subject_of_which_nothing_could_be_judged_has_no_rate() -> None:
    found = tables([unknown()])
    assert cells(found["verdicts"])["FAIL rate [95 %]"] == "none judged"
    assert cells(found["findings"])["lost"] == "no data"
    assert cells(found["costs"])["repeated"] == "no data"


def test_never_failing_is_shown_with_the_rule_of_three() -> None:
    lines = [trial(number=n) for n in range(1, 11)]
    assert cells(tables(lines)["verdicts"])["FAIL rate [95 %]"] == "0 % (< 3/10 = 30 %)"


def test_endings_and_failures_of_the_control_are_named() -> None:
    lines = [
        failed(number=1, ending="hung"),
        failed(number=2, ending="crash_loop"),
        failed(number=3, ending="hung", cause="control"),
        trial(number=4),
        trial("sound", 1),
    ]
    row = cells(tables(lines)["verdicts"])
    assert row["not finished"] == "crash_loop 1, hung 2"
    assert row["FAIL by its control"] == 1
    assert cells(tables(lines)["verdicts"], 1)["not finished"] == "none"


def test_schedules_that_only_another_subject_finished_are_missing() -> None:
    lines = [trial("a", 1), trial("a", 2), trial("b", 1), trial("a", 1, "request"), control("c")]
    rows = [cells(tables(lines)["verdicts"], i) for i in range(4)]
    assert [(row["schedules"], row["subject"], row["n"], row["missing"]) for row in rows] == [
        ("request", "a", 1, 0),
        ("request", "b", 0, 1),
        ("start-KILL", "a", 2, 0),
        ("start-KILL", "b", 1, 1),
    ]
    assert cells(tables(lines)["kills"], 1)["struck"] == "missing"


def test_variants_are_compared_side_by_side() -> None:
    lines = [trial(number=1), trial(number=1, variant="short") | {"id": "naive:short--start-KILL-1"}]
    table = tables(lines)["verdicts"]
    assert [cells(table, i)["subject"] for i in range(2)] == ["naive", "naive:short"]


def test_findings_are_totals_with_the_trials_concerned() -> None:
    lines = [
        failed(number=1, data={"lost": {"count": 25, "keys": ["SKU-00001"]}, "false_done": True}),
        failed(number=2, data={"corrupted": {"count": 2, "keys": []}}, processes={"orphans": 1, "zombies": 0}),
        trial(number=3),
        unknown(number=4),
    ]
    row = cells(tables(lines)["findings"])
    assert (row["n"], row["lost"], row["missed"]) == (3, "25 (1/3)", "0")
    assert (row["duplicated"], row["false_done (trials)"]) == ("200 (2/3)", "1/3")
    assert row["other findings"] == "corrupted 2 (1/3), orphans 1 (1/3)"


def test_costs_are_medians_with_ranges_over_judged_trials() -> None:
    lines = [
        trial(number=1, traffic={"requests": 525, "repeated": 0}),
        trial(number=2, traffic={"requests": 527, "repeated": 2}),
        failed(number=3),
        trial(number=4, outcome="UNKNOWN", traffic={"requests": 9, "repeated": 999}),
    ]
    table = tables(lines)["costs"]
    row = cells(table)
    assert row["requests over the minimum"] == "2 [0–101]"
    assert row["repeated"] == "2 [0–101]"
    assert row["rows per product"] == "1.00 [1.00–1.20]"
    assert "n = 3 judged" in table.caption


WINDOWS = ("start-up", "waiting", "between answer and commit", "inside a commit", "idle")


def test_kills_and_their_windows() -> None:
    faults = [
        fault("before_first_request", "start-up"),
        fault("struck", "waiting"),
        fault("escalated", "idle"),
        fault("struck", "between"),
        fault("struck", "commit"),
        fault("not_reached"),
        fault(planned="request:1 reload"),
    ]
    line = trial(faults=faults, schedule={"faults": [each["planned"] for each in faults]})
    found = tables([line])
    kills, coverage = cells(found["kills"]), cells(found["coverage"])
    assert (kills["kills planned"], kills["struck"], kills["not reached"], kills["escalated"]) == (6, 5, 1, 1)
    assert (kills["after the first request"], kills["with a request in flight"]) == (4, 1)
    assert kills["other faults struck"] == "1/1"
    assert [coverage[window] for window in WINDOWS] == ["1 (20 %)"] * 5
    assert coverage["in a danger window"] == "3 (60 %)"
    assert coverage["struck"] == 5
    assert coverage["window unknown"] == "0 (0 %)"


def test_controls_are_listed_apart_and_enter_no_comparison() -> None:
    lines = [control("naive", 1, not_idempotent=True), control("naive", 2, not_idempotent=False)]
    lines += [control("scrapy", 1, not_idempotent=None), trial("naive")]
    found = tables(lines)
    assert cells(found["verdicts"])["n"] == 1
    rows = [cells(found["controls"], i) for i in range(3)]
    assert [(row["subject"], row["schedule"], row["not_idempotent"]) for row in rows] == [
        ("naive", "control-1", "yes"),
        ("naive", "control-2", "no"),
        ("scrapy", "control-1", "not tried"),
    ]
    assert (rows[0]["requests"], rows[0]["rows"]) == (526, 500)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_table_has_a_title_headings_and_a_caption_with_n(lang: str) -> None:
    for lines in ([], [trial(), unknown(number=2), control()]):
        for table in tables(lines, lang).values():
            assert table.title
            assert "n = " in table.caption
            assert len(set(table.headings)) == len(table.headings)


def test_a_plan_says_what_is_missing_and_what_was_never_meant() -> None:
    plan = {("naive", "start-KILL"): ["start-KILL-1", "start-KILL-2"]}
    table = comparison_tables([trial("naive", 1), control("scrapy_jobdir")], plan=plan)[0]
    assert [row[:4] for row in table.rows] == [("start-KILL", "naive", 1, 1)]


def test_findings_about_effects_are_among_the_other_findings_by_name() -> None:
    twice = {"webhooks": {"twice": {"count": 2, "keys": {}}, "never": {"count": 0, "keys": {}}, "deduplicated": 9}}
    lines = [failed(number=1, effects=twice), failed(number=2, effects=twice), trial(number=3)]
    assert cells(tables(lines)["findings"])["other findings"] == "webhooks.twice 4"
