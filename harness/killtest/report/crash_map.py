"""The map of an exploration as a figure: one cell per durable step, in order, coloured by verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from killtest.report.figure import BLUE, GREY, ORANGE, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 60
# What a cell says, in the order of the legend, with a colour that colour-blind readers can tell from the others.
COLOURS = {
    "PASS": (BLUE, "recovers"),
    "confirmed": (VERMILION, "fails, as a true kill does"),
    "derived": (ORANGE, "fails, not tried by a true kill"),
    "false": (GREY, "fails as derived, not by a true kill"),
    "unknown": ("#DDDDDD", "not known: the kill did not strike"),
}


def crash_map(marks: Sequence[str], title: str) -> Figure:
    """Draw the points' marks, keys of COLOURS. UsageError when matplotlib is missing."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    rows = -(-len(marks) // WIDTH)
    kinds = list(COLOURS)
    grid = [[float("nan")] * WIDTH for _ in range(rows)]
    for index, mark in enumerate(marks):
        grid[index // WIDTH][index % WIDTH] = kinds.index(mark)
    drawing = new_figure(10, max(1.5, 0.9 + rows * 0.16))
    axes = drawing.add_subplot()
    colours = ListedColormap([colour for colour, _ in COLOURS.values()])
    axes.pcolormesh(grid, cmap=colours, vmin=-0.5, vmax=len(kinds) - 0.5, edgecolors="white", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.set_yticks([row + 0.5 for row in range(rows)], [str(row * WIDTH + 1) for row in range(rows)])
    axes.set_xticks([])
    axes.set_ylabel("durable step")
    axes.set_title(title, loc="left", fontsize=10)
    for spine in axes.spines.values():
        spine.set_visible(False)
    shown = [Patch(color=COLOURS[kind][0], label=COLOURS[kind][1]) for kind in kinds if kind in marks]
    axes.legend(handles=shown, loc="upper left", bbox_to_anchor=(0, -0.02), ncols=len(shown), frameon=False, fontsize=9)
    return drawing
