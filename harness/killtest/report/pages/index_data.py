"""What the index of a campaign shows, as plain data, from the ledger's lines: pure but for pandas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from killtest.report import cells, mtbf
from killtest.report.comparison import Sample, samples
from killtest.report.frame import KEY_LISTS, Line, Plan, ledger_frame, numbers
from killtest.report.headings import words
from killtest.report.kill_counts import WINDOWS
from killtest.report.statistics import wilson_interval

OUTCOMES = ("PASS", "FAIL", "UNKNOWN")
# Rows that went and came back are a cost, no finding.
_COUNTED = (*(name for name in KEY_LISTS if name != "set_back"), "orphans", "zombies", "ports")
_SAID = ("false_done", "not_idempotent")
COLUMNS = (
    "id", "subject", "group", "schedule", "outcome", "findings", "rows", "products", "requests", "minimum",
    "danger", "struck", "planned", "wall_s", "page", "reproduce",
)  # fmt: skip
"""The columns of a trial in the index; subject, group and outcome are places in the lists of their names."""


def index_data(lines: Sequence[Line], plan: Plan | None, page_of: Callable[[Line], str | None]) -> dict[str, Any]:
    """The index of a campaign: its trials in short, the comparison, kill coverage, and whatever else it has.

    `page_of` gives the address of a trial's own page, None where its evidence was not kept. Raises UsageError when
    pandas is missing or a trial occurs twice.
    """
    frame = ledger_frame(lines)
    pages = {(line.get("campaign"), line["id"]): page_of(line) for line in lines}
    rows = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    subjects = _names(row["label"] for row in rows)
    groups = _names(row["group"] for row in rows)
    found = samples(frame, plan)
    is_control = frame["control"].astype(bool)
    planned = None if plan is None else sum(map(len, plan.values()))
    return {
        "campaigns": sorted({str(line["campaign"]) for line in lines if line.get("campaign")}),
        "finished": int((~is_control).sum()),
        "planned": planned,
        "controls": int(is_control.sum()),
        "subjects": subjects,
        "groups": groups,
        "outcomes": OUTCOMES,
        "columns": COLUMNS,
        "trials": [_trial(row, subjects, groups, pages[row["campaign"], row["id"]]) for row in rows],
        "comparison": [_compared(sample) for sample in found],
        "coverage": _coverage(frame[~is_control].to_dict("records")),
        "mtbf": mtbf.points(lines),
    }


def _names(values: Any) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values))


def findings(row: Mapping[str, Any]) -> dict[str, int]:
    """What is wrong with a trial: keys or processes by finding, 1 for what was said falsely and for how it ended."""
    found = {name: row[name] for name in _COUNTED if row[name]}
    found |= {name: 1 for name in _SAID if row[name]}
    if row["ending"] not in (None, "finished"):
        found[str(row["ending"])] = 1
    return found


def _trial(row: Mapping[str, Any], subjects: list[str], groups: list[str], page: str | None) -> list[Any]:
    """One trial, in the order of COLUMNS."""
    outcome = row["outcome"] if row["outcome"] in OUTCOMES else "UNKNOWN"
    places = [subjects.index(str(row["label"])), groups.index(str(row["group"]))]
    figures = [row[name] for name in ("rows", "products", "requests", "minimum")]
    kills = [row[f"kills_{name}"] for name in ("danger", "struck", "planned")]
    head = [row["id"], *places, row["schedule"], OUTCOMES.index(outcome), findings(row)]
    return [*head, *figures, *kills, row["wall_s"], page, row["reproduce"]]


def _compared(sample: Sample) -> dict[str, Any]:
    """A cell of the comparison: one subject under one group of schedules."""
    judged, text = sample.judged, words("en")
    failed = int((judged["outcome"] == "FAIL").sum())
    interval = wilson_interval(failed, len(judged)) if len(judged) else None
    ratios = {name: _range(numbers(judged[name])) for name in ("rows_per_product", "requests_per_minimum")}
    return {
        "subject": sample.label,
        "group": sample.group,
        "pass": len(judged) - failed,
        "fail": failed,
        "unknown": len(sample.trials) - len(judged),
        "missing": sample.missing,
        "rate": cells.rate(failed, len(judged), text),
        "interval": None if interval is None else [round(interval.low, 4), round(interval.high, 4)],
        "rows": ratios["rows_per_product"],
        "requests": ratios["requests_per_minimum"],
        "wall_s": _range(numbers(judged["wall_s"])),
    }


def _range(values: Sequence[float]) -> list[float] | None:
    """Lowest, median and highest; the range and not an interval, for the reason that `cells.spread` gives."""
    return [round(value, 4) for value in (min(values), median(values), max(values))] if values else None


def _coverage(rows: Sequence[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """For each subject the kills that struck, by window, with the share that hit a danger window."""
    keys = {"danger": "danger", **{name: name.replace("-", "_") for name in WINDOWS}, "unknown": "window_unknown"}
    table = []
    for label in sorted({str(row["label"]) for row in rows}):
        own = [row for row in rows if row["label"] == label]
        struck = sum(row["kills_struck"] for row in own)
        counts = {name: sum(row[f"kills_{key}"] for row in own) for name, key in keys.items()}
        if struck:
            danger = counts.pop("danger")
            rate = cells.rate(danger, struck, words("en"))
            table.append({"subject": label, "struck": struck, "danger": danger, "rate": rate, "windows": counts})
    return table
