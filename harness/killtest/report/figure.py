"""Figures of a campaign: rows and requests per trial against the ideal.

matplotlib is imported inside functions, since it is an optional dependency, and without pyplot, so that
nothing is left open and no display is needed. Texts are English: fonts with Chinese characters are often not
installed. Functions that draw return a matplotlib Figure; `image` turns it into a file's bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from killtest.errors import UsageError
from killtest.report import article, published
from killtest.report.comparison import Sample, samples
from killtest.report.frame import Line, Plan, ledger_frame, numbers, planned_in, require_report_packages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that colour-blind readers can tell apart: M. Okabe and K. Ito, "Color universal design" (2008).
BLUE, ORANGE, VERMILION, GREEN, GREY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#7F7F7F"
SUBJECT_COLOURS = {"naive": ORANGE, "idempotent": BLUE}
OUTCOME_MARKS = {"PASS": ("o", BLUE), "FAIL": ("X", VERMILION)}
IDEAL = "ideal: products; minimum requests"
BAR_WIDTH = 0.38
DOTS_PER_INCH = 144


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure of that size in inches, whose parts are laid out so that they do not overlap.

    Raises UsageError when matplotlib is missing.
    """
    require_report_packages()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing


def image(drawing: Figure, kind: str) -> bytes:
    """The figure as the bytes of a `png` or `svg` file; the same figure gives the same bytes."""
    from matplotlib import rc_context

    # Without these an SVG holds the time of day and random ids.
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    out = io.BytesIO()
    with rc_context({"svg.hashsalt": "killtest"}):
        drawing.savefig(out, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return out.getvalue()


def article_figure(lines: Sequence[Line], group: str, plan: Plan | None = None) -> Figure:
    """Rows and requests of `naive` and `idempotent` per trial of one schedule group.

    Bars are ours, hollow diamonds the article's, dashed lines the ideal of the site served. A trial without
    figures has the reason in place of its bar. Raises UsageError when matplotlib is missing.
    """
    trials = article.article_trials(lines, group)
    numbered = article.trial_numbers(trials, None if plan is None else planned_in(plan, group))
    drawing = new_figure(max(9.5, 2 + 0.8 * len(numbered)), 4.6)
    left, right = drawing.subplots(1, 2)
    for axes, name, unit in ((left, "rows", "rows in the store"), (right, "requests", "page requests")):
        _draw_bars(axes, trials, numbered, name)
        axes.set_title(f"{name} per trial", loc="left")
        axes.set_xlabel("trial")
        axes.set_ylabel(unit)
    drawing.suptitle(f"Kill schedules “{group}”: the same kills for both crawlers")
    handles, labels = left.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return drawing


def _draw_bars(axes: Axes, trials: article.Trials, numbered: Sequence[int], name: str) -> None:
    """One panel: a bar per subject and trial, the published figures and the ideal."""
    for subject, shift in zip(article.SUBJECTS, (-BAR_WIDTH / 2, BAR_WIDTH / 2), strict=True):
        judged = {
            number: value
            for number, line in trials[subject].items()
            if line.get("outcome") in OUTCOME_MARKS and (value := article.figure(line, name)) is not None
        }
        colour = SUBJECT_COLOURS[subject]
        positions = [number + shift for number in judged]
        axes.bar(positions, list(judged.values()), BAR_WIDTH, color=colour, label=f"{subject}, ours")
        for number in numbered:
            if number not in judged:
                reason = _reason(trials[subject].get(number))
                axes.text(number + shift, 0, f" {reason}", rotation=90, ha="center", va="bottom", fontsize=8)
        repeated = [trial for trial in published.TRIALS if trial.number in numbered]
        printed = [getattr(trial, f"{subject}_{name}") for trial in repeated]
        places = [trial.number + shift for trial in repeated]
        label = "published, same subject"
        axes.plot(places, printed, "D", mfc="white", mec="black", ms=5, label=label if shift > 0 else "_")
    _draw_ideal(axes, trials, name)
    axes.set_xticks(numbered)
    axes.set_xlim(numbered[0] - 0.6, numbered[-1] + 0.6)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def _reason(line: Line | None) -> str:
    """Why a trial has no bar."""
    if line is None:
        return "missing"
    return "unreadable" if line.get("outcome") in OUTCOME_MARKS else "UNKNOWN"


def _draw_ideal(axes: Axes, trials: article.Trials, name: str) -> None:
    """A dashed line for each ideal that the trials' sites had; usually there is one."""
    what = "products" if name == "rows" else "minimum"
    ideals = {article.figure(line, what) for by_number in trials.values() for line in by_number.values()}
    for ideal in sorted(numbers(ideals)):
        axes.axhline(ideal, color="black", linestyle="--", linewidth=1, label=IDEAL)
        _note_at_right(axes, ideal, f"{ideal:,}")


def _note_at_right(axes: Axes, height: float, note: str) -> None:
    """A small text outside the right edge of a panel, at that height of its data."""
    place = (1, height)
    units = ("axes fraction", "data")
    axes.annotate(note, place, (4, 0), xycoords=units, textcoords="offset points", va="center", fontsize=8)


def comparison_figure(lines: Sequence[Line], plan: Plan | None = None) -> Figure:
    """Rows and requests of every trial of every subject, one row of panels per schedule group.

    Each mark is a trial, its shape and colour the outcome; the dashed line is the ideal of the subject's
    site. What has no figures (UNKNOWN, missing, an unreadable store) is counted at the right margin. Raises
    UsageError when matplotlib is missing or there is no trial to draw.
    """
    found = samples(ledger_frame(lines), plan)
    if not found:
        raise UsageError("there is no figure of a campaign without finished trials")
    groups = list(dict.fromkeys(sample.group for sample in found))
    by_group = [[sample for sample in found if sample.group == group] for group in groups]
    height = sum(1.1 + 0.42 * len(members) for members in by_group) + 0.7
    drawing = new_figure(11, height)
    panels = drawing.subplots(
        len(groups), 2, squeeze=False, sharex="col", height_ratios=[1 + len(members) for members in by_group]
    )
    for group, members, (left, right) in zip(groups, by_group, panels, strict=True):
        _draw_strip(left, members, "rows", "products")
        _draw_strip(right, members, "requests", "minimum")
        left.set_title(f"schedules “{group}”", loc="left")
        right.tick_params(labelleft=False)
    for axes in panels[-1]:
        axes.set_xlim(left=0)  # last: a limit that is set stops the shared axis from growing with its panels
    panels[-1][0].set_xlabel("rows in the store at the end of a trial")
    panels[-1][1].set_xlabel("page requests of a trial")
    _legend_of_outcomes(drawing)
    return drawing


def _draw_strip(axes: Axes, members: Sequence[Sample], value: str, ideal: str) -> None:
    """One panel: a line of marks per subject, spread a little so that equal values stay visible."""
    for place, sample in enumerate(members):
        ideals = sorted(set(numbers(sample.trials[ideal])))
        axes.vlines(ideals, place - 0.5, place + 0.5, color="black", linestyle="--", linewidth=1)
        drawn = sample.judged[sample.judged[value].notna()]
        for outcome, (mark, colour) in OUTCOME_MARKS.items():
            chosen = [i for i, found in enumerate(drawn["outcome"]) if found == outcome]
            across = [drawn[value].iloc[i] for i in chosen]
            heights = [place + _spread(i, len(drawn)) for i in chosen]
            # Not clipped: a mark at 0 rows lies on the axis and would be cut in half.
            style: dict[str, Any] = {"alpha": 0.8, "linewidths": 0, "zorder": 3, "clip_on": False}
            axes.scatter(across, heights, 26, colour, marker=mark, **style)
        _note_at_right(axes, place, _undrawn(sample, len(drawn)))
    axes.set_yticks(range(len(members)), [sample.label for sample in members])
    axes.set_ylim(len(members) - 0.5, -0.5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _spread(i: int, n: int) -> float:
    """Where the i-th of n marks lies across its line, within -0.25 to 0.25."""
    return 0.0 if n < 2 else 0.5 * i / (n - 1) - 0.25


def _undrawn(sample: Sample, drawn: int) -> str:
    """The trials of a sample that have no mark, by reason."""
    unknown = len(sample.trials) - len(sample.judged)
    parts = (
        (unknown, "UNKNOWN"),
        (sample.missing, "missing"),
        (len(sample.judged) - drawn, "unreadable"),
    )
    return ", ".join(f"{count} {reason}" for count, reason in parts if count)


def _legend_of_outcomes(drawing: Figure) -> None:
    """One legend below all panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=mark, color=colour, label=f"trial: {outcome}")
        for outcome, (mark, colour) in OUTCOME_MARKS.items()
    ]
    handles.append(Line2D([], [], linestyle="--", color="black", linewidth=1, label=IDEAL))
    drawing.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
