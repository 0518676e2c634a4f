"""Products missing against requests repeated: one panel per kind of interruption, one line per variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from killtest.laboratory.matrix import SCHEDULES, Point
from killtest.report.figure import BLUE, GREY, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The axis is linear up to here and logarithmic beyond, so that 0 and 1 can be told apart and 500 is in the picture.
_LINEAR_UP_TO = 2
_MOST = 900
_LINE_IN = 0.27


def laboratory_figure(points: Sequence[Point]) -> Figure:
    """The matrix as a picture: a bar for what is missing, a ring for what was asked for again.

    UsageError when matplotlib is missing.
    """
    labels = list(dict.fromkeys(point.label for point in points))
    drawing = new_figure(17, 1.6 + _LINE_IN * max(4, len(labels)))
    panels = drawing.subplots(1, len(SCHEDULES), sharey=True)
    for axes, (schedule, title) in zip(panels, SCHEDULES.items(), strict=True):
        _draw(axes, [point for point in points if point.schedule == schedule], labels)
        axes.set_title(title[0], loc="left", fontsize=10)
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].invert_yaxis()
    drawing.supxlabel("number (linear to 2, then logarithmic); n = 1 trial each", fontsize=9)
    drawing.suptitle("What an interruption costs on a shop of 500 products")
    handles, names = panels[0].get_legend_handles_labels()
    drawing.legend(handles, names, loc="outside upper right", ncols=2, frameon=False)
    return drawing


def _draw(axes: Axes, points: Sequence[Point], labels: Sequence[str]) -> None:
    lines = [labels.index(point.label) for point in points]
    missing, repeated = [point.missing for point in points], [point.repeated for point in points]
    axes.barh(lines, missing, 0.55, color=VERMILION, label="products missing in the end")
    axes.plot(repeated, lines, "o", ms=6, mfc="none", mec=BLUE, mew=1.5, label="page requests made again")
    for line, number in zip(lines, missing, strict=True):
        if number:
            axes.text(number * 1.12, line, str(number), va="center", fontsize=7, color=VERMILION)
    axes.set_xscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_xlim(-0.3, _MOST * 2)
    axes.xaxis.set_ticks([0, 1, 2, 10, 100, 500], ["0", "1", "2", "10", "100", "500"])
    axes.xaxis.set_ticks([], minor=True)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
