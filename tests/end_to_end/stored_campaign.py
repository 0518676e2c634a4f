"""A campaign on disk that nobody has run: lines of the ledger, and folders with as much as a test wants."""

import json
from pathlib import Path
from typing import Any

from ledger_lines import control, failed, trial

SPEC = 'name = "c"\nsubjects = ["naive", "gone", "other"]\n'
OTHER_SCHEMA = {"schema": 7, "name": "kill-other", "faults": ["request:3 KILL"]}


def stored_campaign(folder: Path) -> None:
    """A control; trials that failed, one of a subject that is gone and one whose schedule is of another schema."""
    lines = [
        control("naive"),
        line("naive", "kill-naive"),
        line("./gone", "kill") | {"id": "gone--kill"},
        line("naive", "passed", make=trial),
        line("naive", "kill-other") | {"id": "naive--other"},
    ]
    for one in lines:
        if one["outcome"] == "FAIL":
            (folder / "trials" / one["id"]).mkdir(parents=True)
    (folder / "trials" / "naive--control-1").mkdir()
    (folder / "trials" / "naive--other" / "schedule.json").write_text(json.dumps(OTHER_SCHEMA))
    (folder / "campaign.toml").write_text(SPEC)
    (folder / "trials.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))


def line(subject: str, name: str, make: Any = failed) -> dict[str, Any]:
    """A trial under one kill, reproduced by the usual command."""
    schedule = {"name": name, "group": name, "seed": "", "faults": ["request:3 KILL"]}
    found: dict[str, Any] = make(subject, schedule=schedule)
    return found | {"id": f"{subject}--{name}", "reproduce": f"killtest run {subject} --fault 'request:3 KILL'"}
