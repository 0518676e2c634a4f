"""What the page of one trial shows, as plain data, from its ledger line and its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from killtest.errors import UsageError
from killtest.report.frame import Line, subject_label, trial_row
from killtest.report.kill_counts import STRUCK, is_kill
from killtest.report.pages.index_data import findings
from killtest.report.timeline import KINDS, PageRequest, page_requests, row_steps

_KEYED = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back", "old_code")


def trial_data(line: Line, evidence_dir: Path, index: str) -> dict[str, Any]:
    """The page of a trial whose evidence lies in `evidence_dir`; `index` is the address of the campaign's index.

    Where the evidence can't be read, `problem` says why and there are no requests.
    """
    row, problem = trial_row(line), None
    try:
        requests = page_requests(evidence_dir)
    except UsageError as error:
        requests, problem = [], str(error)
    incarnations = [dict(one) for one in line.get("incarnations") or []]
    return {
        "id": line["id"],
        "index": index,
        "campaign": line.get("campaign"),
        "subject": subject_label(line),
        "schedule": line.get("schedule") or {},
        "outcome": row["outcome"],
        "cause": line.get("cause"),
        "ending": line.get("ending"),
        "ending_detail": line.get("ending_detail"),
        "problem": line.get("problem"),
        "unreadable": problem,
        "findings": findings(row),
        "keys": _keys(line),
        "data": {name: row[name] for name in ("rows", "distinct", "products")},
        "traffic": line.get("traffic") or {},
        "wall_s": row["wall_s"],
        "incarnations": [{name: value for name, value in one.items() if name != "jobdir"} for one in incarnations],
        "faults": _faults(line),
        "requests": _columns(requests),
        "rows_after": row_steps(line),
        "answered": _answered(requests),
        "files": files_of(evidence_dir),
        "reproduce": line.get("reproduce"),
    }


def _keys(line: Line) -> dict[str, dict[str, Any]]:
    """The first keys of each finding with their details, as the ledger has them; older lines have plain lists."""
    data = line.get("data") or {}
    found = {}
    for name in _KEYED:
        entry = data.get(name) or {}
        if entry.get("count"):
            keys = entry.get("keys") or {}
            told = keys if isinstance(keys, dict) else dict.fromkeys(keys)
            found[name] = {"count": entry["count"], "keys": [[str(key), value] for key, value in told.items()]}
    return found


def _faults(line: Line) -> list[dict[str, Any]]:
    """The faults of a trial, each with its second since the trial began where it struck."""
    starts_s = {one["number"]: one["started_s"] for one in line.get("incarnations") or []}
    told = []
    for fault in line.get("faults") or []:
        has_struck = fault.get("status") in STRUCK and fault.get("struck_s") is not None
        start_s = starts_s.get(fault.get("incarnation"))
        at_s = start_s + fault["struck_s"] if has_struck and start_s is not None else None
        told.append({**fault, "at_s": at_s, "is_kill": is_kill(str(fault.get("planned")))})
    return told


def _columns(requests: list[PageRequest]) -> dict[str, list[Any]]:
    """The page requests column by column, which is a third of the size; kinds and paths as places in lists."""
    kinds = list(KINDS)
    paths = list(dict.fromkeys(one.path for one in requests))
    places = {path: place for place, path in enumerate(paths)}
    return {
        "at_s": [round(one.arrived_s, 4) for one in requests],
        "took_s": [None if one.ended_s is None else round(one.ended_s - one.arrived_s, 4) for one in requests],
        "incarnation": [one.incarnation for one in requests],
        "kind": [kinds.index(one.kind) for one in requests],
        "path": [places[one.path] for one in requests],
        "status": [one.status for one in requests],
        "outcome": [one.outcome for one in requests],
        "paths": paths,
        "kinds": kinds,
    }


def _answered(requests: list[PageRequest]) -> list[list[float]]:
    """How many different products had been answered, by second: what could have been stored by then."""
    seen: set[str] = set()
    steps: list[list[float]] = [[0.0, 0]]
    answers = [one for one in requests if one.key is not None and one.outcome == "sent" and one.ended_s is not None]
    for one in sorted(answers, key=lambda one: one.ended_s or 0.0):
        if str(one.key) not in seen:
            seen.add(str(one.key))
            steps.append([round(one.ended_s or 0.0, 4), len(seen)])
    return steps if answers else []


def files_of(evidence_dir: Path) -> list[list[Any]]:
    """Name and size in bytes of every file right in the folder, and the folders, which end in a slash."""
    told: list[list[Any]] = []
    if evidence_dir.is_dir():
        for path in sorted(evidence_dir.iterdir()):
            if path.name.startswith(".") or path.name == "index.html":
                continue
            told.append([f"{path.name}/", None] if path.is_dir() else [path.name, path.stat().st_size])
    return told
