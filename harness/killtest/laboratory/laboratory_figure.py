"""Products missing against requests repeated: one panel per kind of interruption, one dot per variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from killtest.laboratory.matrix import SCHEDULES, Point
from killtest.report.figure import BLUE, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
# Both axes are linear up to here and logarithmic beyond, so that 0 and 1 can be told apart and 500 is in the picture.
_LINEAR_UP_TO = 2
_MOST = 700
_LINE_POINTS = 8.5


def laboratory_figure(points: Sequence[Point]) -> Figure:
    """The matrix as a picture; a dot's colour says whose it is, and every variant is named at its dot.

    UsageError when matplotlib is missing.
    """
    drawing = new_figure(15, 9.6)
    panels = drawing.subplots(-(-len(SCHEDULES) // _COLUMNS), _COLUMNS, sharex=True, sharey=True).flat
    for axes, (schedule, title) in zip(panels, SCHEDULES.items(), strict=False):
        _draw(axes, [point for point in points if point.schedule == schedule])
        axes.set_title(title[0], loc="left")
    drawing.supxlabel("page requests made again (symmetric logarithm)")
    drawing.supylabel("products missing of 500 (symmetric logarithm)")
    drawing.suptitle("What an interruption costs: scrapy_jobdir (red) and scrapy_durable (blue), one trial each")
    return drawing


def _draw(axes: Axes, points: Sequence[Point]) -> None:
    axes.set_xscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_yscale("symlog", linthresh=_LINEAR_UP_TO)
    axes.set_xlim(-0.4, _MOST)
    axes.set_ylim(-0.4, _MOST)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([0, 1, 2, 10, 100, 500], ["0", "1", "2", "10", "100", "500"])
        axis.set_ticks([], minor=True)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    for point in points:
        axes.plot(point.repeated, point.missing, "o", ms=5, color=_colour(point), alpha=0.7)
    _name_them(axes, points)


def _name_them(axes: Axes, points: Sequence[Point]) -> None:
    """Names of dots that lie together stand below each other, so that none hides another."""
    together: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for point in sorted(points, key=lambda one: (one.missing, one.repeated)):
        together[_place(point)].append(point)
    for group in together.values():
        # The text runs away from the nearer edge: downwards from above, upwards from the line of no loss.
        upwards = -1 if max(point.missing for point in group) > _LINEAR_UP_TO else 1
        anchor = max(group, key=lambda one: one.missing)
        for rank, point in enumerate(group, 1):
            axes.annotate(
                _short(point.label),
                (anchor.repeated, anchor.missing),
                xytext=(7, upwards * (rank * _LINE_POINTS - 3)),
                textcoords="offset points",
                fontsize=6.5,
                color=_colour(point),
                va="center",
            )


def _place(point: Point) -> tuple[int, int]:
    """Dots of the same place can't be told apart by eye: as many requests, as large a loss."""
    size = 0 if point.missing == 0 else 1 + (point.missing > 60)
    return (0 if point.repeated <= _LINEAR_UP_TO else 1 + (point.repeated > 40), size)


def _short(label: str) -> str:
    subject, _, variant = label.partition(":")
    return (variant or "defaults") if subject == "scrapy_jobdir" else label


def _colour(point: Point) -> str:
    return VERMILION if point.label.startswith("scrapy_jobdir") else BLUE
