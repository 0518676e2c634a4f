"""The stand-alone reproduction of a finding: a folder to attach to a report."""

import shlex
from pathlib import Path
from typing import Any

import msgspec

from killtest.campaigns.answer import Answer
from killtest.campaigns.campaign_run import site_words
from killtest.campaigns.trial_line import Line, command_words, subject_words
from killtest.plan import schedule, subject
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Schedule
from killtest.shrink import issue
from killtest.shrink.versions import versions

_SCRIPT = """#!/bin/sh
# Runs the crawler under the schedule beside this file. Ends with 1 while the finding is there, with 0 once it is gone.
cd "$(dirname "$0")" || exit 2
exec ${{KILLTEST:-killtest}} {words}
"""


class Finding(msgspec.Struct, frozen=True):
    """What was found, of whom, in which shop, and under which faults."""

    subject: Subject
    site: dict[str, Any]
    faults: tuple[str, ...]
    line: Line
    answer: Answer
    rule: str


def write(found: Finding, folder: Path, argv: list[str]) -> None:
    """Write the new folder: repro.sh, schedule.json, expected.json, observed.json, versions.json, issue.md."""
    folder.mkdir()
    who = _anywhere(found.subject)
    planned = Planned(who, Schedule("repro", found.faults))
    words = _words(planned, found.site)
    script = folder / "repro.sh"
    script.write_text(_SCRIPT.format(words=shlex.join(words)), "utf-8")
    script.chmod(0o755)
    (folder / "schedule.json").write_bytes(schedule.to_json(planned.schedule))
    known = versions(found.subject, folder, argv)
    for name, data in (("expected", expected(found)), ("observed", observed(found)), ("versions", known)):
        (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n")
    text = issue.text(found.subject, expected(found), observed(found), known, found.rule)
    (folder / "issue.md").write_text(text, "utf-8")


def expected(found: Finding) -> dict[str, Any]:
    """What a crawl that survives its kills gives: every product once."""
    data = found.line["data"]
    return {"outcome": "PASS", "ending": "finished", "rows": data["products"] if data else None, "findings": {}}


def observed(found: Finding) -> dict[str, Any]:
    """What the last run gave, in the same words, and where each fault struck."""
    line, said = found.line, found.answer
    rows = line["data"]["rows"] if line["data"] else None
    told = {"outcome": said.outcome, "ending": said.ending, "rows": rows, "findings": said.findings}
    return told | {"faults": line["faults"], "traffic": line["traffic"]}


def _words(planned: Planned, site: dict[str, Any]) -> list[str]:
    # The folder is new on every machine: its results go beside it.
    words = ["run", *subject_words(planned), *site_words(planned, site)]
    return [*words, "--schedule", "schedule.json", *command_words(planned)]


def _anywhere(who: Subject) -> Subject:
    """The subject under words that mean the same in whatever folder a shell stands."""
    if who.source is None:
        command = subject.command_line(who.command, who.folder, {"python": "{python}"})
        return msgspec.structs.replace(who, command=tuple(command))
    path = Path(who.source)
    return msgspec.structs.replace(who, source=str(path.resolve()) if path.exists() else who.source)
