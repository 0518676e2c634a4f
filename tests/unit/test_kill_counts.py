"""Kills and other faults, planned and struck, and the windows they hit."""

from __future__ import annotations

import pytest
from killtest.report.kill_counts import count_kills, is_kill
from ledger_lines import control, fault, trial, unknown


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        ("request:25 KILL", True),
        ("after:0.7 INT+INT@0.2", True),
        ("after:0.7 STOP+KILL@2", True),
        ("request:/product/7 TERM+KILL@10 scope=pid", True),
        ("request:/product/6 bump:/product/6, KILL scope=pid", True),
        ("mark:fetched STOP scope=owner", False),
        ("after:1 STOP+CONT@2", False),
        ("request:3 service:valkey:KILL", False),
        ("request:/KILL reload", False),
        ("latency:/product/6=1.2", False),
        ("request:25 oom", True),
        ("request:25 bump:/product/6, clock:-3600, oom instance=1", True),
        ("request:25 clock:-3600, KILL", True),
        ("request:25 clock:-3600", False),
        ("request:25 enospc", False),
        ("memory:64M", False),
    ],
)
def test_a_kill_signals_the_subject_to_death(planned: str, expected: bool) -> None:
    assert is_kill(planned) is expected


def test_every_status_and_window_is_counted_once() -> None:
    faults = [
        fault("before_first_request", "start-up"),
        fault("struck", "waiting"),
        fault("struck", "idle"),
        fault("escalated", "waiting", planned="after:1 TERM"),
        fault("struck", None),
        fault("struck", "between"),
        fault("struck", "commit"),
        fault("struck", "commit"),
        fault("not_reached"),
    ]
    planned = [each["planned"] for each in faults]
    counts = count_kills(trial(faults=faults, schedule={"faults": planned}))
    assert (counts.planned, counts.struck, counts.not_reached, counts.escalated) == (9, 8, 1, 1)
    assert (counts.start_up, counts.waiting, counts.idle, counts.window_unknown) == (1, 2, 1, 1)
    assert (counts.between, counts.commit, counts.danger) == (1, 2, 5)
    assert counts.struck == counts.start_up + counts.danger + counts.idle + counts.window_unknown
    assert (counts.after_first_request, counts.in_flight) == (7, 2)


def test_faults_that_are_no_kills_are_counted_apart() -> None:
    planned = ["request:1 reload", "request:2 STOP+CONT@1", "request:3 KILL"]
    faults = [fault(planned=planned[0]), fault("not_reached", planned=planned[1]), fault(planned=planned[2])]
    counts = count_kills(trial(faults=faults, schedule={"faults": planned}))
    assert (counts.planned, counts.struck) == (1, 1)
    assert (counts.others_planned, counts.others_struck) == (2, 1)


def test_what_was_planned_counts_although_the_harness_failed_before_writing_it_down() -> None:
    counts = count_kills(unknown())
    assert (counts.planned, counts.struck, counts.not_reached) == (1, 0, 1)


def test_a_control_has_no_kills() -> None:
    assert count_kills(control()).planned == 0
