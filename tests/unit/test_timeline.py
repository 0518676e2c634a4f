"""The timeline of one trial, from its line and its evidence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.report.timeline import kill_times, page_requests, row_steps, timeline_figure
from ledger_lines import failed, fault, trial, unknown, write_evidence
from matplotlib.collections import LineCollection, PathCollection


def test_requests_are_first_repeated_or_late_in_order_of_arrival(tmp_path: Path) -> None:
    requests = page_requests(write_evidence(tmp_path, trial()))
    assert [(round(each.arrived_s, 3), each.incarnation, each.kind) for each in requests] == [
        (0.1, 0, "first"),
        (0.2, 0, "first"),
        (0.8, 1, "repeated"),
        (0.9, 1, "first"),
        (1.0, 0, "late"),
    ]


def test_figure_has_a_bar_per_incarnation_a_tick_per_request_and_a_cross_per_kill(tmp_path: Path) -> None:
    line = failed(faults=[fault(), fault("not_reached", incarnation=1)])
    above, below = timeline_figure(line, write_evidence(tmp_path, line)).axes
    patches: list[Any] = list(above.patches)
    bars = [(patch.get_x(), round(patch.get_width(), 3)) for patch in patches]
    assert bars == [(0.0, 0.5), (0.6, 2.6)]
    ticks = {
        str(each.get_label()): len(each.get_segments())
        for each in above.collections
        if isinstance(each, LineCollection)
    }
    assert ticks == {"first request (3)": 3, "repeated request (1)": 1, "late request (1)": 1}
    crosses: list[Any] = [each for each in above.collections if isinstance(each, PathCollection)]
    assert [each.get_offsets().tolist() for each in crosses] == [[[0.5, 0.0]]]
    lines: list[Any] = list(below.lines)
    curve, products = lines
    assert list(curve.get_ydata()) == [0, 95, 500]
    assert products.get_ydata()[0] == 500
    assert below.get_xlabel() == "seconds since the trial began"


def test_kills_count_from_the_start_of_their_incarnation() -> None:
    faults = [
        fault(),
        fault(incarnation=1, struck_s=0.25, status="escalated"),
        fault(planned="request:1 reload"),
        fault("not_reached"),
    ]
    assert kill_times(trial(faults=faults)) == [(0.5, 0), (pytest.approx(0.85), 1)]


def test_rows_that_could_not_be_read_are_a_gap_with_a_word(tmp_path: Path) -> None:
    line = trial(data={"rows_after": [None, 500]})
    assert row_steps(line) == [(0.0, 0), (0.5, None), (3.2, 500)]
    below = timeline_figure(line, write_evidence(tmp_path, line)).axes[1]
    curve: Any = below.lines[0]
    assert math.isnan(curve.get_ydata()[1])
    assert [text.get_text() for text in below.texts] == ["unreadable"]


def test_an_unknown_trial_has_a_timeline_too(tmp_path: Path) -> None:
    line = unknown()
    drawing = timeline_figure(line, write_evidence(tmp_path, line))
    assert "UNKNOWN, rows unreadable" in drawing.get_suptitle()


def test_missing_and_torn_evidence_is_named(tmp_path: Path) -> None:
    folder = write_evidence(tmp_path, trial())
    (folder / "site.jsonl").write_text('{"seq": 1\n')
    with pytest.raises(UsageError, match=r"site\.jsonl, line 1: not JSON"):
        page_requests(folder)
    (folder / "site.jsonl").unlink()
    with pytest.raises(UsageError, match=r"no timeline without .*site\.jsonl: No such file"):
        page_requests(folder)
    (folder / "history.jsonl").write_text('{"event": "planned", "t_s": 1}\n')
    with pytest.raises(UsageError, match="has no trial_started"):
        page_requests(folder)
