"""The ledger as a pandas data frame: one row per trial, one column per figure.

pandas is imported inside functions: it is an optional dependency, and importing it takes longer than most
commands need in all.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from killtest.errors import UsageError
from killtest.report.kill_counts import count_kills

if TYPE_CHECKING:
    import pandas as pd

Line = Mapping[str, Any]

KEY_LISTS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back")
TRAFFIC = ("requests", "other", "minimum", "baseline", "repeated", "overlap", "max_concurrent", "late")


Plan = Mapping[tuple[str, str], Collection[str]]
"""What a campaign is to run: subject label and schedule group to the names of the schedules; no controls."""


def require_report_packages() -> None:
    """Check that the packages of tables, figures and pages can be imported; UsageError naming the extra if not."""
    for name in ("pandas", "tabulate", "matplotlib", "vl_convert"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UsageError(
                f"tables, figures and pages need {name}, which can't be imported: pip install 'killtest[report]'"
            ) from error


def planned_in(plan: Plan, group: str) -> int:
    """The most trials of that schedule group that any subject was to have."""
    return max((len(names) for (_, planned), names in plan.items() if planned == group), default=0)


def subject_label(line: Line) -> str:
    """The subject's name, followed by its variant if it has one: `idempotent:short_lease`."""
    variant = line.get("variant")
    return f"{line['subject']}:{variant}" if variant else str(line["subject"])


def plan_by_label(plan: Plan, lines: Iterable[Line]) -> Plan:
    """The plan of a campaign file, whose subjects may be paths, under the labels that its lines have.

    A path and its label stand together in the command that reproduces a line.
    """
    commands = [(shlex.split(str(line["reproduce"])), subject_label(line)) for line in lines if line.get("reproduce")]
    labels = {words[2]: label for words, label in commands if len(words) > 2}
    return {(labels.get(name, name), group): names for (name, group), names in plan.items()}


def trial_number(line: Line) -> int | None:
    """The number at the end of the schedule's name (`start-KILL-3` is 3), or None."""
    found = re.search(r"(\d+)$", str(_part(line, "schedule").get("name", "")))
    return int(found.group(1)) if found else None


def rows_committed_by_killed(line: Line) -> int | None:
    """Rows in the store before the last incarnation began, that is, what killed incarnations had committed.

    0 when there was a single incarnation, None when the store could not be read at that border. Starts again after
    the subject had finished are none of the trial's incarnations.
    """
    rows_after = _part(line, "data").get("rows_after")
    if not rows_after:
        return None
    again = sum(bool(one.get("again")) for one in line.get("incarnations") or [])
    proper = rows_after[: len(rows_after) - again]
    return 0 if len(proper) == 1 else proper[-2]


def trial_row(line: Line) -> dict[str, Any]:
    """One ledger line as a flat row; None where the line has no value, as in a trial that is UNKNOWN."""
    schedule, data, traffic = _part(line, "schedule"), _part(line, "data"), _part(line, "traffic")
    processes = _part(line, "processes")
    row: dict[str, Any] = {
        "id": line["id"],
        "campaign": line.get("campaign"),
        "subject": line["subject"],
        "variant": line.get("variant"),
        "label": subject_label(line),
        "schedule": schedule.get("name"),
        "group": schedule.get("group"),
        "number": trial_number(line),
        "control": bool(line.get("control")),
        # A line without an outcome is our own failure, never a pass and never blank.
        "outcome": line.get("outcome") or "UNKNOWN",
        "cause": line.get("cause"),
        "ending": line.get("ending"),
        "ending_detail": line.get("ending_detail"),
    }
    row |= {name: data.get(name) for name in ("products", "rows", "distinct")}
    row |= {name: (data.get(name) or {}).get("count") for name in KEY_LISTS}
    row |= {name: data.get(name) for name in ("false_done", "not_idempotent")}
    row["effects"] = json.dumps(line.get("effects") or {}, ensure_ascii=False, sort_keys=True)
    row |= {name: processes.get(name) for name in ("orphans", "zombies", "ports")}
    row |= {name: traffic.get(name) for name in TRAFFIC}
    row["over_minimum"] = _difference(traffic.get("requests"), traffic.get("minimum"))
    row["rows_per_product"] = _ratio(data.get("rows"), data.get("products"))
    row["requests_per_minimum"] = _ratio(traffic.get("requests"), traffic.get("minimum"))
    row["rows_by_killed"] = rows_committed_by_killed(line)
    kills = count_kills(line)
    row |= {f"kills_{name}": value for name, value in asdict(kills).items()}
    row["kills_danger"] = kills.danger
    row["incarnations"] = len(line.get("incarnations") or [])
    row["self_deaths"] = line.get("self_deaths")
    row["wall_s"] = _part(line, "time").get("wall_s")
    row |= {name: line.get(name) for name in ("evidence", "reproduce")}
    unexplained = (data.get("unexplained") or {}).get("count")
    # A column of its own only where there is one: tables of ledgers without failing calls stay as they are.
    return row | ({"unexplained": unexplained} if unexplained else {})


def ledger_frame(lines: Iterable[Line]) -> pd.DataFrame:
    """A data frame with one row per ledger line, sorted so that the order of finishing does not matter.

    Columns are those of `trial_row`, of dtype object, None where there is no value. Controls come first, then
    subject, variant, schedule group and trial number. Raises UsageError when pandas is missing or when a
    trial occurs twice, since every count would then be wrong.
    """
    require_report_packages()
    import pandas as pd

    ordered = sorted(lines, key=_sort_key)
    _refuse_repeats(ordered)
    rows = [trial_row(line) for line in ordered]
    columns = list(dict.fromkeys(name for row in (trial_row({"id": "", "subject": ""}), *rows) for name in row))
    whole = [{name: row.get(name) for name in columns} for row in rows]
    return pd.DataFrame(whole, columns=columns, dtype=object)


def trials_csv(lines: Iterable[Line]) -> str:
    """The data frame as CSV, one row per trial; `NA` where there is no value."""
    frame = ledger_frame(lines)
    text: str = frame.to_csv(index=False, na_rep="NA", lineterminator="\n")
    return text


def numbers(values: Iterable[Any]) -> list[float]:
    """The values that are there, without None; ints stay ints."""
    return [value for value in values if value is not None]


def _sort_key(line: Line) -> tuple[Any, ...]:
    """Controls first, then by subject, variant, group, number, name."""
    schedule = _part(line, "schedule")
    return (
        not line.get("control"),
        str(line["subject"]),
        str(line.get("variant") or ""),
        str(schedule.get("group") or ""),
        trial_number(line) or 0,
        str(schedule.get("name")),
        str(line["id"]),
    )


def _refuse_repeats(lines: Sequence[Line]) -> None:
    """UsageError when two lines are about the same trial of the same campaign."""
    seen: set[tuple[Any, Any]] = set()
    for line in lines:
        key = (line.get("campaign"), line["id"])
        if key in seen:
            raise UsageError(f"trial {line['id']} of campaign {line.get('campaign')} is in the ledger twice")
        seen.add(key)


def _part(line: Line, name: str) -> Mapping[str, Any]:
    """The object of that name inside a line; empty when it is absent or null."""
    return line.get(name) or {}


def _difference(value: int | None, reference: int | None) -> int | None:
    """Value - reference, or None when either is not known."""
    return None if value is None or reference is None else value - reference


def _ratio(value: int | None, reference: int | None) -> float | None:
    """Value / reference, or None when either is not known or the reference is 0."""
    return None if value is None or not reference else value / reference
