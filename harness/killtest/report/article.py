"""The article's table, made again: our trials of `naive` and `idempotent` beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from killtest.report import published
from killtest.report.frame import Line, Plan, numbers, planned_in, rows_committed_by_killed, trial_number
from killtest.report.headings import Words, words
from killtest.report.kill_counts import count_kills, is_kill
from killtest.report.table import Cell, Table

SUBJECTS = ("naive", "idempotent")
FIGURES = ("rows", "requests")
Trials = Mapping[str, Mapping[int, Line]]
"""Subject to trial number to ledger line."""


def has_article(lines: Sequence[Line]) -> bool:
    """Whether the article's table belongs in a report of these lines.

    It does in a campaign called `article…`, however little of it has run, and wherever both of its subjects
    were killed by the article's clock on a site of the article's size.
    """
    if any(str(line.get("campaign") or "").startswith("article") for line in lines):
        return True
    timed = [line for line in lines if _belongs(line) and _is_timed_from_start(line)]
    trials = [line for line in timed if line.get("outcome") in ("PASS", "FAIL")]
    sizes = {(figure(line, "products"), figure(line, "minimum")) for line in trials}
    same_size = (published.PRODUCTS, published.MINIMUM_REQUESTS) in sizes
    return same_size and {str(line["subject"]) for line in trials} == set(SUBJECTS)


def article_groups(lines: Iterable[Line]) -> list[str]:
    """The schedule groups in which one of the article's subjects was killed by the article's clock, by name."""
    return sorted({_group(line) for line in lines if _belongs(line) and _is_timed_from_start(line)})


def _is_timed_from_start(line: Line) -> bool:
    """Whether all faults of a line strike a number of seconds after the start of an incarnation."""
    return all(str(fault).startswith("after:") for fault in line["schedule"]["faults"])


def article_trials(lines: Iterable[Line], group: str) -> dict[str, dict[int, Line]]:
    """The trials of one schedule group, by subject and by number.

    Numbers come from the schedules' names; where those have none or repeat them, trials are numbered from 1
    in the order of names over both subjects, so that a number means the same schedule for both.
    """
    chosen = [line for line in lines if _belongs(line) and _group(line) == group]
    by_name = {_schedule_name(line): trial_number(line) for line in chosen}
    found = list(by_name.values())
    if None in found or len(set(found)) < len(found):
        by_name = {name: rank for rank, name in enumerate(sorted(by_name), 1)}
    trials: dict[str, dict[int, Line]] = {subject: {} for subject in SUBJECTS}
    for line in chosen:
        trials[line["subject"]][by_name[_schedule_name(line)] or 0] = line
    return trials


def trial_numbers(trials: Trials, planned: int | None = None) -> list[int]:
    """The numbers of the trials planned (None: the article's five) and of whatever others were run, ascending."""
    ours = {number for by_number in trials.values() for number in by_number}
    return sorted(ours | set(range(1, 1 + (len(published.TRIALS) if planned is None else planned))))


def figure(line: Line, name: str) -> float | None:
    """`rows`, `products`, `requests`, `minimum` or `wall_s` of a line; None when it has none."""
    section = {"rows": "data", "products": "data", "wall_s": "time"}.get(name, "traffic")
    value: float | None = (line.get(section) or {}).get(name)
    return value


def ratio(line: Line, name: str) -> float | None:
    """Rows per product or requests per minimum of a line, 1 being ideal; None when it has no such figures."""
    value, ideal = figure(line, name), figure(line, "products" if name == "rows" else "minimum")
    return None if value is None or not ideal else value / ideal


def article_tables(lines: Sequence[Line], lang: str = "en", plan: Plan | None = None) -> list[Table]:
    """Two tables for each schedule group: the figures beside the published ones, and against the ideal.

    A trial that has not run is a row that says `missing`, one that is UNKNOWN says so, and neither enters a
    range. Raises UsageError for a language that has no tables.
    """
    text = words(lang)
    groups = article_groups(lines) or [text["no_trials"]]
    tables = []
    for group in groups:
        trials = article_trials(lines, group)
        numbered = trial_numbers(trials, None if plan is None else planned_in(plan, group))
        tables += [_figures_table(trials, numbered, group, text), _ratios_table(trials, numbered, group, text)]
    return tables


def _figures_table(trials: Trials, numbered: Sequence[int], group: str, text: Words) -> Table:
    """Trial, our four figures, the four published ones."""
    columns = [(subject, name) for subject in SUBJECTS for name in FIGURES]
    keys = [f"{subject}_{name}" for subject, name in columns]
    rows: list[tuple[Cell, ...]] = []
    for number in numbered:
        ours = [_cell(trials[subject].get(number), _figure_of(name), text) for subject, name in columns]
        printed = published.published_trial(number)
        theirs = [getattr(printed, key) if printed else text["not_published"] for key in keys]
        rows.append((str(number), *ours, *theirs))
    headings = ["trial", *keys, *(f"published_{key}" for key in keys)]
    return _table("article", group, trials, text, headings, rows)


def _ratios_table(trials: Trials, numbered: Sequence[int], group: str, text: Words) -> Table:
    """Trial, figures divided by the ideal, kills, rows committed by the killed, wall times; then ranges."""
    columns = _ratio_columns()
    rows: list[tuple[Cell, ...]] = []
    for number in numbered:
        cells = [_cell(trials[column.subject].get(number), column.show, text) for column in columns]
        rows.append((str(number), *cells))
    rows.append((text["range"], *(_range(column, _values(column, trials), text) for column in columns)))
    printed = [
        _range(column, column.published, text) if column.published else text["not_published"] for column in columns
    ]
    rows.append((text["published_range"], *printed))
    return _table("article_ratios", group, trials, text, ["trial", *(column.key for column in columns)], rows)


Getter = Callable[[Line], Any]


@dataclass(frozen=True)
class RatioColumn:
    """A column of the second table: one figure of one subject, with `digits` decimals.

    `value` gives the number that enters the range, `published` the article's own numbers, empty where it has
    none.
    """

    key: str
    subject: str
    value: Getter
    digits: int
    published: Sequence[float] = ()

    def show(self, line: Line) -> str | None:
        """The cell of one trial; kills are shown with how many were planned, None is what can't be read."""
        value = self.value(line)
        if value is None or not self.key.endswith("_kills"):
            return None if value is None else f"{value:,.{self.digits}f}"
        return f"{value}/{count_kills(line).planned}"


def _ratio_columns() -> list[RatioColumn]:
    """The columns of the second table."""
    columns = []
    for who in SUBJECTS:
        rows = [getattr(trial, f"{who}_rows") / published.PRODUCTS for trial in published.TRIALS]
        requests = [getattr(t, f"{who}_requests") / published.MINIMUM_REQUESTS for t in published.TRIALS]
        columns.append(RatioColumn(f"{who}_rows_ratio", who, lambda line: ratio(line, "rows"), 3, rows))
        columns.append(RatioColumn(f"{who}_requests_ratio", who, lambda line: ratio(line, "requests"), 3, requests))
    kills = [published.KILLS_PER_TRIAL]
    columns += [RatioColumn(f"{who}_kills", who, _struck, 0, kills) for who in SUBJECTS]
    columns.append(RatioColumn("naive_rows_by_killed", "naive", rows_committed_by_killed, 0))
    for who, wall_s in zip(SUBJECTS, (published.NAIVE_WALL_S, published.IDEMPOTENT_WALL_S), strict=True):
        columns.append(RatioColumn(f"{who}_wall_s", who, lambda line: figure(line, "wall_s"), 1, wall_s))
    return columns


def _struck(line: Line) -> int:
    """Kills of a trial that struck."""
    return count_kills(line).struck


def _values(column: RatioColumn, trials: Trials) -> list[float]:
    """The numbers of a column over the trials that were judged."""
    judged = [line for line in trials[column.subject].values() if not _is_unknown(line)]
    return numbers(column.value(line) for line in judged)


def _range(column: RatioColumn, values: Sequence[float], text: Words) -> str:
    """`lowest–highest` of the values, one number where they look equal."""
    if not values:
        return text["no_data"]
    low, high = (f"{value:,.{column.digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def _table(
    name: str,
    group: str,
    trials: Trials,
    text: Words,
    headings: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
) -> Table:
    """A table of this module with its title and caption filled in."""
    caption = text[f"caption_{name}"].format(
        title=published.TITLE,
        published_products=published.PRODUCTS,
        published_minimum=published.MINIMUM_REQUESTS,
        published_kills=published.KILLS_PER_TRIAL,
        **{f"{subject}_n": len(trials[subject]) for subject in SUBJECTS},
    )
    return Table(
        name=f"{name}-{group}",
        title=text[f"title_{name}"].format(group=group),
        caption=caption,
        headings=tuple(text[key] for key in headings),
        rows=tuple(rows),
    )


def _cell(line: Line | None, get: Getter, text: Words) -> Cell:
    """One figure of one trial, or the word that says why there is none."""
    if line is None:
        return text["missing"]
    if _is_unknown(line):
        return "UNKNOWN"
    value: Cell | None = get(line)
    return text["unreadable"] if value is None else value


def _figure_of(name: str) -> Getter:
    """A getter for `figure` of that name."""
    return lambda line: figure(line, name)


def _belongs(line: Line) -> bool:
    """Whether a line is a trial like the article's: its subjects, unchanged, killed and nothing else."""
    faults = (line.get("schedule") or {}).get("faults") or []
    plain = line["subject"] in SUBJECTS and not line.get("variant") and not line.get("control")
    return plain and bool(faults) and all(map(is_kill, faults))


def _is_unknown(line: Line) -> bool:
    """Whether the harness failed in this trial, so that its figures are not the subject's."""
    return line.get("outcome") not in ("PASS", "FAIL")


def _group(line: Line) -> str:
    """The name of the line's schedule group."""
    return str((line.get("schedule") or {}).get("group"))


def _schedule_name(line: Line) -> str:
    """The name of the line's schedule."""
    return str((line.get("schedule") or {}).get("name"))
