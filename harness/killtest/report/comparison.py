"""Tables that compare subjects: verdicts, findings, costs, kills, kill coverage and controls.

Each line is one subject (and variant) under one schedule group. All subjects of a campaign get the same
schedules, so a combination without trials is a line that says so, not a line left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from killtest.campaigns.trial_line import effect_findings
from killtest.report import cells
from killtest.report.frame import Line, Plan, ledger_frame, numbers
from killtest.report.headings import Words, words
from killtest.report.table import Cell, Table

if TYPE_CHECKING:
    import pandas as pd

OTHER_FINDINGS = ("corrupted", "stale", "unexpected", "vanished", "orphans", "zombies", "ports")


@dataclass(frozen=True)
class Sample:
    """The trials of one subject under one schedule group.

    `trials` are all of them, `judged` those that are PASS or FAIL, `missing` the number of schedules of the
    group that were planned for it and have not run.
    """

    label: str
    group: str
    trials: pd.DataFrame
    judged: pd.DataFrame
    missing: int


Column = tuple[str, Callable[[Sample, Words], Cell]]
"""The key of a heading, and how a sample becomes the cell below it."""


def samples(frame: pd.DataFrame, plan: Plan | None = None) -> list[Sample]:
    """Every subject under every schedule group planned for it, sorted by group and subject; no controls.

    Without a plan every subject is taken to have been meant for every schedule that any of them has finished.
    """
    trials = frame[~frame["control"].astype(bool)]
    wanted = _plan_of(trials) if plan is None else plan
    found = []
    for label, group in sorted(wanted, key=lambda one: (one[1], one[0])):
        chosen = trials[(trials["group"] == group) & (trials["label"] == label)]
        judged = chosen[chosen["outcome"].isin(["PASS", "FAIL"])]
        missing = len(set(wanted[label, group]) - set(chosen["schedule"]))
        found.append(Sample(label, group, chosen, judged, missing))
    return found


def _plan_of(trials: pd.DataFrame) -> Plan:
    schedules = {str(group): set(of_group["schedule"]) for group, of_group in trials.groupby("group")}
    return {(str(label), group): names for label in set(trials["label"]) for group, names in schedules.items()}


def comparison_tables(lines: Sequence[Line], lang: str = "en", plan: Plan | None = None) -> list[Table]:
    """Verdicts, findings, costs, kills and coverage of all subjects, then the controls.

    Raises UsageError when pandas is missing, when a trial occurs twice, or for a language that has no tables.
    """
    text = words(lang)
    frame = ledger_frame(lines)
    found = samples(frame, plan)
    tables = [_table(name, columns, found, text) for name, columns in _tables().items()]
    return [*tables, controls_table(frame, text)]


def _tables() -> dict[str, list[Column]]:
    """The columns of each table, after subject and schedule group."""
    return {
        "verdicts": _verdict_columns(),
        "findings": _finding_columns(),
        "costs": _cost_columns(),
        "kills": _kill_columns(),
        "coverage": _coverage_columns(),
    }


def _table(name: str, columns: Sequence[Column], found: Sequence[Sample], text: Words) -> Table:
    """One table, a row per sample."""
    judged_only = name in ("findings", "costs")
    n = sum(len(sample.judged if judged_only else sample.trials) for sample in found)
    rows = [(sample.group, sample.label, *(cell(sample, text) for _, cell in columns)) for sample in found]
    return Table(
        name=name,
        title=text[f"title_{name}"],
        caption=text[f"caption_{name}"].format(n=n),
        headings=(text["group"], text["subject"], *(text[key] for key, _ in columns)),
        rows=tuple(rows),
        empty=text["no_trials"],
    )


def _verdict_columns() -> list[Column]:
    """Numbers of trials by outcome, and the rate of FAIL."""
    return [
        ("n", lambda sample, text: len(sample.trials)),
        ("missing_trials", lambda sample, text: sample.missing),
        ("pass", lambda sample, text: _outcomes(sample, "PASS")),
        ("fail", lambda sample, text: _outcomes(sample, "FAIL")),
        ("unknown", lambda sample, text: len(sample.trials) - len(sample.judged)),
        ("fail_rate", lambda sample, text: cells.rate(_outcomes(sample, "FAIL"), len(sample.judged), text)),
        ("control_cause", lambda sample, text: _failed_by_control(sample)),
        ("endings", _endings),
    ]


def _outcomes(sample: Sample, outcome: str) -> int:
    """How many judged trials have that outcome."""
    return int((sample.judged["outcome"] == outcome).sum())


def _failed_by_control(sample: Sample) -> int:
    """Trials that fail for what the subject does without faults; the kills don't get the blame."""
    judged = sample.judged
    return int(((judged["outcome"] == "FAIL") & (judged["cause"] == "control")).sum())


def _endings(sample: Sample, text: Words) -> Cell:
    """The endings other than `finished` among judged trials, with their counts."""
    endings = Counter(str(ending) for ending in sample.judged["ending"] if ending != "finished")
    return ", ".join(f"{ending} {count}" for ending, count in sorted(endings.items())) or text["none"]


def _finding_columns() -> list[Column]:
    """What is wrong with the data, in keys."""
    columns: list[Column] = [("n", lambda sample, text: len(sample.judged))]
    columns += [(name, _total_of(name)) for name in ("lost", "missed", "duplicated")]
    columns.append(("false_done", _false_done))
    columns.append(("other_findings", _other_findings))
    return columns


def _total_of(name: str) -> Callable[[Sample, Words], Cell]:
    """A cell with the sum of a column over judged trials."""
    return lambda sample, text: cells.total(numbers(sample.judged[name]), text)


def _false_done(sample: Sample, text: Words) -> Cell:
    """How many judged trials said they were done while rows were missing."""
    said = [value for value in sample.judged["false_done"] if value is not None]
    return f"{sum(map(bool, said))}/{len(said)}" if said else text["no_data"]


def _other_findings(sample: Sample, text: Words) -> Cell:
    """The rarer findings that occurred, by name; a FAIL must show its reason somewhere."""
    if sample.judged.empty:
        return text["no_data"]
    counts = {name: numbers(sample.judged[name]) for name in OTHER_FINDINGS}
    parts = [f"{name} {cells.total(values, text)}" for name, values in counts.items() if any(values)]
    parts += [f"{name} {count}" for name, count in _effects(sample).items()]
    return ", ".join(parts) or text["none"]


def _effects(sample: Sample) -> Counter[str]:
    """How many keys each finding about effects has, over judged trials."""
    counts = Counter[str]()
    for told in sample.judged["effects"]:
        for name, found in effect_findings({"effects": json.loads(told)}).items():
            counts[name] += found["count"]
    return counts


def _cost_columns() -> list[Column]:
    """What crash safety, or its absence, costs per trial."""
    columns: list[Column] = [("n", lambda sample, text: len(sample.judged))]
    for name, digits in (("rows_per_product", 2), ("over_minimum", 0), ("repeated", 0), ("overlap", 0)):
        columns.append((name, _spread_of(name, digits)))
    return [*columns, ("late", _spread_of("late", 0)), ("wall_s", _spread_of("wall_s", 1))]


def _spread_of(name: str, digits: int) -> Callable[[Sample, Words], Cell]:
    """A cell with the median and range of a column over judged trials."""
    return lambda sample, text: cells.spread(numbers(sample.judged[name]), text, digits)


def _kill_columns() -> list[Column]:
    """What became of the planned kills, in numbers of kills over all trials."""
    columns: list[Column] = [("n", lambda sample, text: len(sample.trials))]
    for name in ("planned", "struck", "after_first", "in_flight", "not_reached", "escalated"):
        column = "after_first_request" if name == "after_first" else name
        columns.append((f"kills_{name}", _kills_of(column)))
    columns.append(("other_faults", _other_faults))
    return columns


def _kills_of(name: str) -> Callable[[Sample, Words], Cell]:
    """A cell with the sum of a count of kills; without trials it says so."""
    return lambda sample, text: text["missing"] if sample.trials.empty else _kills(sample, name)


def _kills(sample: Sample, name: str) -> int:
    """The sum of a count of kills over all trials."""
    return int(sum(sample.trials[f"kills_{name}"]))


def _other_faults(sample: Sample, text: Words) -> Cell:
    """Faults that are no kills: struck of planned."""
    planned = _kills(sample, "others_planned")
    return f"{_kills(sample, 'others_struck')}/{planned}" if planned else text["none"]


def _coverage_columns() -> list[Column]:
    """Where the kills struck."""
    windows = ("danger", "waiting", "between", "commit", "idle", "start_up")
    columns: list[Column] = [(f"window_{name}", _window_share(name)) for name in windows]
    return [("kills_struck", _kills_of("struck")), *columns, ("window_unknown", _window_share("window_unknown"))]


def _window_share(name: str) -> Callable[[Sample, Words], Cell]:
    """A cell with the kills that hit one window, and their share of those that struck."""

    def cell(sample: Sample, text: Words) -> Cell:
        if sample.trials.empty:
            return text["missing"]
        return cells.share(_kills(sample, name), _kills(sample, "struck"))

    return cell


def controls_table(frame: pd.DataFrame, text: Words) -> Table:
    """One row per control: what the subject does when nobody disturbs it."""
    controls = frame[frame["control"].astype(bool)]
    rows = [_control_row(row, text) for row in controls.to_dict("records")]
    columns = ["subject", "schedule", "outcome", "ending", "rows", "products", "requests", "minimum"]
    columns += ["other_requests", "not_idempotent", "wall_s"]
    return Table(
        name="controls",
        title=text["title_controls"],
        caption=text["caption_controls"].format(n=len(rows)),
        headings=tuple(text[key] for key in columns),
        rows=tuple(rows),
        empty=text["no_trials"],
    )


def _control_row(row: dict[Any, Any], text: Words) -> tuple[Cell, ...]:
    """The cells of one control."""
    figures = [row[name] for name in ("rows", "products", "requests", "minimum", "other")]
    again = text[{True: "yes", False: "no", None: "not_tried"}[row["not_idempotent"]]]
    wall_s = None if row["wall_s"] is None else round(row["wall_s"], 1)
    known = (row["label"], row["schedule"], row["outcome"], row["ending"], *figures, again, wall_s)
    return tuple(text["no_data"] if value is None else value for value in known)
