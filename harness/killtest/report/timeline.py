"""The timeline of one trial, from its ledger line and its evidence: incarnations, kills, requests, rows.

Site logs and histories count seconds of CLOCK_MONOTONIC; the first line of the history,
`{"event":"trial_started","t_s":…}`, says where the trial's own clock begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from killtest.errors import UsageError
from killtest.report.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, new_figure
from killtest.report.frame import Line, require_report_packages
from killtest.report.kill_counts import STRUCK, count_kills, is_kill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {"first": BLUE, "repeated": ORANGE, "late": VERMILION}
TICK_ROWS = {"first": 0.0, "repeated": -0.18, "late": 0.18}
"""How far the ticks of a kind are shifted, so that colour is not all that tells them apart."""
TICK_WIDTHS = {"first": 0.7, "repeated": 1.2, "late": 1.2}
"""In points; repeated and late requests can be few, and are what one looks for."""
TICK_HALF = 0.17


@dataclass(frozen=True)
class PageRequest:
    """One page request: when it arrived and ended (seconds since the trial began), in which incarnation, of which kind.

    `kind` is `first` for the first request of a path in the trial, `repeated` for every other one, and `late`
    for one over a connection of an older incarnation after a newer one had begun. `key` is the product that the page
    carries, `outcome` what became of the answer; None where the log does not say.
    """

    arrived_s: float
    incarnation: int
    kind: str
    path: str = ""
    ended_s: float | None = None
    key: str | None = None
    status: int | None = None
    outcome: str | None = None


def page_requests(evidence_dir: Path) -> list[PageRequest]:
    """The page requests of a trial in the order of arrival.

    Raises UsageError when the site log or the history is not there or can't be read.
    """
    origin_s = _origin_s(evidence_dir)
    logged = [entry for entry in _json_lines(evidence_dir / "site.jsonl") if entry.get("kind") == "page"]
    seen: set[str] = set()
    requests = []
    for entry in sorted(logged, key=lambda entry: (entry["arrived_s"], entry["seq"])):
        kind = "late" if entry.get("late") else "repeated" if entry["path"] in seen else "first"
        seen.add(entry["path"])
        requests.append(_page_request(entry, kind, origin_s))
    return requests


def _page_request(entry: Mapping[str, Any], kind: str, origin_s: float) -> PageRequest:
    ended_s = None if entry.get("ended_s") is None else entry["ended_s"] - origin_s
    told = (entry.get(name) for name in ("key", "status", "outcome"))
    return PageRequest(entry["arrived_s"] - origin_s, entry["incarnation"], kind, entry["path"], ended_s, *told)


def timeline_figure(line: Line, evidence_dir: Path) -> Figure:
    """The course of one trial, in seconds since it began.

    Above: a bar per incarnation with its requests as ticks and the kills that struck as crosses. Below: the
    rows in the store after each incarnation.

    Raises UsageError when the evidence can't be read or matplotlib is missing.
    """
    require_report_packages()
    from matplotlib.lines import Line2D

    requests = page_requests(evidence_dir)
    incarnations: Sequence[Mapping[str, Any]] = line.get("incarnations") or []
    drawing = new_figure(11, 3.6 + 0.3 * max(3, len(incarnations)))
    above, below = drawing.subplots(2, 1, sharex=True, height_ratios=[max(3, len(incarnations)), 3])
    _draw_incarnations(above, incarnations)
    _draw_requests(above, requests)
    _draw_kills(above, line)
    _draw_rows(below, line)
    drawing.suptitle(_title(line, len(requests)), fontsize=11)
    legend = drawing.legend(loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    # The ticks themselves are too thin to show their colour in a legend.
    for handle, label in zip(legend.legend_handles, legend.get_texts(), strict=True):
        if isinstance(handle, Line2D) and " request (" in label.get_text():
            handle.set_linewidth(5)
    return drawing


def _title(line: Line, requests: int) -> str:
    """Which trial this is and how it ended."""
    rows = (line.get("data") or {}).get("rows")
    stored = "rows unreadable" if rows is None else f"{rows:,} rows"
    planned = count_kills(line).planned
    outcome = line.get("outcome") or "UNKNOWN"
    return f"{line['id']}: {outcome}, {stored}, {requests:,} page requests, {planned} kills planned"


def _draw_incarnations(axes: Axes, incarnations: Sequence[Mapping[str, Any]]) -> None:
    """A pale bar from the start to the end of each incarnation."""
    starts = [incarnation["started_s"] for incarnation in incarnations]
    lengths = [incarnation["ended_s"] - incarnation["started_s"] for incarnation in incarnations]
    places = [incarnation["number"] for incarnation in incarnations]
    axes.barh(places, lengths, left=starts, height=0.8, color="0.88", label="incarnation")
    axes.set_yticks(places)
    axes.set_ylim(max(places, default=0) + 0.6, -0.6)
    axes.set_ylabel("incarnation")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_requests(axes: Axes, requests: Sequence[PageRequest]) -> None:
    """A tick per page request, one collection per kind that occurs."""
    for kind, colour in KINDS.items():
        chosen = [request for request in requests if request.kind == kind]
        if chosen:
            times_s = [request.arrived_s for request in chosen]
            middles = [request.incarnation + TICK_ROWS[kind] for request in chosen]
            low, high = [y - TICK_HALF for y in middles], [y + TICK_HALF for y in middles]
            label = f"{kind} request ({len(chosen)})"
            axes.vlines(times_s, low, high, color=colour, linewidth=TICK_WIDTHS[kind], label=label)


def kill_times(line: Line) -> list[tuple[float, int]]:
    """When each kill struck, in seconds since the trial began, and the incarnation that it struck."""
    starts = {each["number"]: each["started_s"] for each in line.get("incarnations") or []}
    struck = [fault for fault in line.get("faults") or [] if fault.get("status") in STRUCK]
    kills = [fault for fault in struck if is_kill(str(fault["planned"])) and fault["incarnation"] in starts]
    return [(starts[kill["incarnation"]] + kill["struck_s"], kill["incarnation"]) for kill in kills]


def _draw_kills(axes: Axes, line: Line) -> None:
    """A cross for every kill that struck."""
    struck = kill_times(line)
    if struck:
        times_s, places = [time_s for time_s, _ in struck], [number for _, number in struck]
        label = f"kill ({len(struck)})"
        style: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.7, "zorder": 4}
        axes.scatter(times_s, places, 55, "black", marker="X", label=label, **style)


def row_steps(line: Line) -> list[tuple[float, int | None]]:
    """Rows in the store, with the second since the trial began from which they are known.

    It begins with 0 rows at 0 s; None means that the store could not be read after that incarnation.
    """
    rows_after: Sequence[int | None] = (line.get("data") or {}).get("rows_after") or []
    ends = [incarnation["ended_s"] for incarnation in line.get("incarnations") or []]
    return [(0.0, 0), *zip(ends, rows_after, strict=False)]


def _draw_rows(axes: Axes, line: Line) -> None:
    """The rows as a step curve against the number of products."""
    steps = row_steps(line)
    heights = [float("nan") if rows is None else rows for _, rows in steps]
    times_s = [time_s for time_s, _ in steps]
    axes.step(
        times_s,
        heights,
        where="post",
        color=GREEN,
        marker="o",
        ms=4,
        label="rows in the store",
        clip_on=False,
    )
    for time_s, rows in steps:
        if rows is None:
            axes.text(time_s, 0, "unreadable", rotation=90, ha="center", va="bottom", fontsize=8)
    products = (line.get("data") or {}).get("products")
    if products is not None:
        axes.axhline(products, color=GREY, linestyle="--", linewidth=1, label=f"products ({products:,})")
    axes.set_ylim(bottom=0, top=1.15 * max([products or 1, *(rows or 0 for _, rows in steps)]))
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("seconds since the trial began")
    axes.set_ylabel("rows")
    axes.spines[["top", "right"]].set_visible(False)


def _origin_s(evidence_dir: Path) -> float:
    """The monotonic second at which the trial began."""
    for entry in _json_lines(evidence_dir / "history.jsonl"):
        if entry.get("event") == "trial_started" and "t_s" in entry:
            return float(entry["t_s"])
    raise UsageError(f"{evidence_dir / 'history.jsonl'} has no trial_started: no timeline")


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file; UsageError when it is missing or torn."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                try:
                    yield json.loads(text)
                except ValueError as error:
                    raise UsageError(f"{path}, line {number}: not JSON ({error})") from error
    except OSError as error:
        raise UsageError(f"no timeline without {path}: {error.strerror}") from error
