"""Builders of small ledger lines, as docs/trial-line.md describes them, for the tests of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEY_LISTS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back")


def fault(status: str = "struck", window: str | None = "waiting", **changes: Any) -> dict[str, Any]:
    """A fault of a line: a SIGKILL that struck with one request in flight, unless told otherwise."""
    struck = status != "not_reached"
    after_first = struck and window != "start-up"
    return {
        "planned": "after:0.5 KILL",
        "incarnation": 0,
        "due_s": 0.5,
        "struck_s": 0.5 if struck else None,
        "since_first_request_s": 0.3 if after_first else None,
        "status": status,
        "scope": "tree",
        "in_flight": ["/product/1"] if window == "waiting" and struck else [],
        "window": window if struck else None,
    } | changes


def trial(subject: str = "naive", number: int = 1, group: str = "start-KILL", **changes: Any) -> dict[str, Any]:
    """A finished trial that passed: 500 rows of 500 products, 526 requests, one kill.

    `changes` replace top-level values, or, under the names `data`, `traffic` and `schedule`, are merged into
    those.
    """
    name = f"{group}-{number}"
    line: dict[str, Any] = {
        "schema": 1,
        "id": f"{subject}--{name}",
        "campaign": "article",
        "subject": subject,
        "variant": None,
        "schedule": {"name": name, "group": group, "seed": "1", "faults": ["after:0.5 KILL"]},
        "control": False,
        "outcome": "PASS",
        "cause": None,
        "ending": "finished",
        "data": _data(),
        "traffic": _traffic(),
        "effects": {},
        "processes": {"orphans": 0, "zombies": 0},
        "time": {"wall_s": 3.25, "first_request_s": [0.2, 0.2], "last_incarnation_s": 2.5},
        "faults": [fault()],
        "incarnations": [
            {"number": 0, "started_s": 0.0, "ended_s": 0.5, "exit": -9, "ended_by": "fault", "requests": 101},
            {"number": 1, "started_s": 0.6, "ended_s": 3.2, "exit": 0, "ended_by": "itself", "requests": 425},
        ],
        "self_deaths": 0,
        "evidence": f"trials/{subject}--{name}",
        "reproduce": f'killtest run {subject} --fault "after:0.5 KILL"',
    }
    for part in ("data", "traffic", "schedule"):
        line[part] = line[part] | changes.pop(part, {})
    return line | changes


def failed(subject: str = "naive", number: int = 1, group: str = "start-KILL", **changes: Any) -> dict[str, Any]:
    """A trial that failed: 600 rows, 100 of them duplicated, 626 requests."""
    data = {"rows": 600, "duplicated": {"count": 100, "keys": {"SKU-00001": 1}}} | changes.pop("data", {})
    traffic = {"requests": 626, "repeated": 101, "overlap": 101} | changes.pop("traffic", {})
    changes = {"outcome": "FAIL", "cause": "faults"} | changes
    return trial(subject, number, group, data=data, traffic=traffic, **changes)


def unknown(subject: str = "naive", number: int = 1, group: str = "start-KILL") -> dict[str, Any]:
    """A trial in which the harness itself failed: no data, no traffic, no fault struck."""
    line = trial(subject, number, group, outcome="UNKNOWN", cause="no fault struck", ending=None, faults=[])
    return line | {"data": None, "traffic": None, "time": None, "incarnations": []}


def control(subject: str = "naive", number: int = 1, not_idempotent: bool | None = None) -> dict[str, Any]:
    """A control that passed."""
    line = trial(subject, data={"not_idempotent": not_idempotent, "rows_after": [500]}, faults=[], control=True)
    line["schedule"] = {"name": f"control-{number}", "group": "control", "seed": "1", "faults": []}
    return line | {"id": f"{subject}--control-{number}", "evidence": f"trials/{subject}--control-{number}"}


def write_evidence(campaign_dir: Path, line: dict[str, Any]) -> Path:
    """The history and site log of a trial with two incarnations, begun at 100 s of the monotonic clock.

    Incarnation 0 requests two pages, incarnation 1 one of them again and a third; then one request of the old
    connection comes late. A robots.txt is no page.
    """
    folder = campaign_dir / str(line["evidence"])
    folder.mkdir(parents=True)
    (folder / "history.jsonl").write_text(json.dumps({"event": "trial_started", "t_s": 100.0}) + "\n")
    arrived = [
        (100.05, 0, "/robots.txt", "other", False),
        (100.1, 0, "/list/0", "page", False),
        (100.2, 0, "/product/1", "page", False),
        (100.8, 1, "/list/0", "page", False),
        (100.9, 1, "/product/2", "page", False),
        (101.0, 0, "/product/2", "page", True),
    ]
    with (folder / "site.jsonl").open("w") as file:
        # Lines are written when a request ends, so the log is not in the order of arrival.
        for seq, (arrived_s, incarnation, path, kind, late) in reversed(list(enumerate(arrived, 1))):
            entry = {"seq": seq, "incarnation": incarnation, "path": path, "kind": kind}
            file.write(json.dumps(entry | {"arrived_s": arrived_s, "late": late}) + "\n")
    return folder


def _data() -> dict[str, Any]:
    """The data part of a trial without a finding."""
    data: dict[str, Any] = {"rows": 500, "distinct": 500, "products": 500}
    data |= {name: {"count": 0, "keys": []} for name in KEY_LISTS}
    return data | {"false_done": False, "not_idempotent": None, "rows_after": [95, 500]}


def _traffic() -> dict[str, Any]:
    """The traffic part of a trial that repeated one request."""
    return {
        "requests": 526,
        "other": 0,
        "minimum": 525,
        "baseline": 525,
        "repeated": 1,
        "per_row": 1.052,
        "overlap": 1,
        "max_concurrent": 1,
        "late": 0,
    }
