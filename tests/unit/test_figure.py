"""What the figures contain: bars, marks, ticks and lines, looked at as objects, not as pixels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.report import published
from killtest.report.figure import article_figure, comparison_figure, image
from ledger_lines import control, failed, trial, unknown
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


def bars(axes: Axes) -> list[float]:
    """The heights of the bars of a panel."""
    return [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]


def texts(parts: Iterable[Any]) -> list[str]:
    """The texts that are not empty."""
    return [part.get_text().strip() for part in parts if part.get_text().strip()]


def offsets(axes: Axes) -> list[tuple[float, float]]:
    """The places of the marks of a panel."""
    found: list[Any] = [each for each in axes.collections if isinstance(each, PathCollection)]
    return [(float(x), float(y)) for collection in found for x, y in collection.get_offsets()]


def marks(axes: Axes) -> list[float]:
    """The x values of the marks of a panel, ascending."""
    return sorted(x for x, _ in offsets(axes))


def heights(axes: Axes, **properties: str) -> list[Any]:
    """The y values of the lines of a panel that have these properties."""
    lines: list[Any] = [
        line for line in axes.lines if all(getattr(line, f"get_{k}")() == v for k, v in properties.items())
    ]
    return [list(line.get_ydata()) for line in lines]


def test_article_figure_has_a_bar_for_each_judged_trial_and_a_reason_for_the_others() -> None:
    unreadable = failed("idempotent", 2, data={"rows": None})
    lines = [failed("naive", 1), unknown("naive", 2), trial("idempotent", 1), unreadable]
    lines.append(trial("naive", 3, outcome="UNKNOWN", data={"rows": 9999}))
    rows, requests = article_figure(lines, "start-KILL").axes
    assert bars(rows) == [600, 500]
    assert bars(requests) == [626, 526, 626]
    assert sorted(set(texts(rows.texts))) == ["500", "UNKNOWN", "missing", "unreadable"]
    assert texts(rows.texts).count("missing") == 5


def test_article_figure_shows_the_ideal_of_the_site_and_the_published_figures() -> None:
    lines = [failed("naive", 1, data={"products": 30}, traffic={"minimum": 33})]
    rows, requests = article_figure(lines, "start-KILL").axes
    assert heights(rows, linestyle="--") == [[30, 30]]
    assert heights(requests, linestyle="--") == [[33, 33]]
    assert heights(rows, marker="D") == [
        [each.naive_rows for each in published.TRIALS],
        [each.idempotent_rows for each in published.TRIALS],
    ]


def test_comparison_figure_has_a_row_of_panels_per_group_and_a_mark_per_judged_trial() -> None:
    lines = [
        trial("a", 1),
        failed("a", 2),
        trial("b", 1),
        unknown("b", 2),
        trial("a", 1, "request"),
        control("a"),
    ]
    drawing = comparison_figure(lines)
    assert len(drawing.axes) == 4
    request_rows, _, start_rows, start_requests = drawing.axes
    assert marks(start_rows) == [500, 500, 600]
    assert marks(start_requests) == [526, 526, 626]
    assert marks(request_rows) == [500]
    assert [label.get_text() for label in start_rows.get_yticklabels()] == ["a", "b"]
    assert texts(start_rows.texts) == ["1 UNKNOWN"]
    assert texts(request_rows.texts) == ["1 missing"]


def test_equal_marks_of_a_subject_do_not_hide_each_other() -> None:
    rows = comparison_figure([trial(number=n) for n in range(1, 5)]).axes[0]
    places = [y for _, y in offsets(rows)]
    assert len(set(places)) == 4
    assert all(abs(y) <= 0.25 for y in places)


def test_there_is_no_figure_of_nothing() -> None:
    with pytest.raises(UsageError, match="without finished trials"):
        comparison_figure([control()])


def test_no_text_overlaps_another() -> None:
    lines = [failed("naive", n) for n in range(1, 6)] + [trial("idempotent", n) for n in range(1, 5)]
    lines += [unknown("idempotent", 5), trial("a_subject_with_a_long_name", 1)]
    for drawing in (article_figure(lines, "start-KILL"), comparison_figure(lines)):
        assert overlaps(drawing) == []


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_same_figure_gives_the_same_bytes(kind: str, begins: bytes) -> None:
    first, again = (image(comparison_figure([trial(), failed(number=2)]), kind) for _ in range(2))
    assert first == again
    assert first.startswith(begins)


def overlaps(drawing: Figure) -> list[tuple[str, str]]:
    """The pairs of visible texts of a figure whose boxes overlap by more than two pixels each way."""
    drawing.draw_without_rendering()
    parts = [drawing._suptitle] if drawing._suptitle else []  # type: ignore[attr-defined]
    parts += [text for legend in drawing.legends for text in legend.get_texts()]
    for axes in drawing.axes:
        parts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]  # type: ignore[attr-defined]
        parts += [*axes.get_yticklabels(), *axes.get_xticklabels()]
    visible = [part for part in parts if part.get_text().strip() and part.get_visible()]
    boxes = [(part.get_text(), part.get_window_extent().padded(-1)) for part in visible]
    return [
        (one, other)
        for i, (one, box) in enumerate(boxes)
        for other, other_box in boxes[i + 1 :]
        if box.overlaps(other_box)
    ]


def test_every_mark_of_every_panel_lies_inside_the_shared_axis() -> None:
    lines = [trial("naive", 1, "a"), failed("naive", 1, "b", data={"rows": 5000}, schedule={"name": "b-1"})]
    panels = comparison_figure(lines).axes
    marks = [x for axes in panels for dots in axes.collections for x, _ in dots.get_offsets()]
    assert max(marks) == 5000
    assert all(axes.get_xlim()[1] > 5000 for axes in panels[::2])
