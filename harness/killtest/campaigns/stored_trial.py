"""A trial of an earlier campaign, found again on disk by what a command line calls it."""

from pathlib import Path

import msgspec

from killtest.campaigns import answer, ledger
from killtest.campaigns.answer import Answer
from killtest.campaigns.campaign_folder import SPEC, stored_spec
from killtest.campaigns.campaign_run import control_of, judge_again
from killtest.campaigns.trial_line import Line
from killtest.errors import UsageError
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Control
from killtest.plan import schedule
from killtest.plan.campaign import Spec
from killtest.plan.manifest import StoreNeeds, Subject
from killtest.plan.schedule import Schedule

_HOW = "name a trial's folder (results/CAMPAIGN/trials/ID), CAMPAIGN#SCHEDULE or CAMPAIGN#ID"


class StoredTrial(msgspec.Struct, frozen=True):
    """A finished trial: its campaign's folder and specification, its line, what it answered, and its evidence.

    `evidence` is None where it was not kept, which is so when the trial passed; then the answer is the ledger's.
    """

    campaign: Path
    spec: Spec
    line: Line
    schedule: Schedule
    answer: Answer
    evidence: Evidence | None

    @property
    def place(self) -> Path:
        """The folder of its evidence."""
        return self.campaign / "trials" / str(self.line["id"])


def find(word: str) -> StoredTrial:
    """The trial that `word` names: its folder, CAMPAIGN#SCHEDULE, CAMPAIGN#ID, or a campaign of one trial with faults.

    UsageError when there is no such trial, when the folder of its evidence is gone, and for a control.
    """
    name, _, wanted = word.partition("#")
    path = Path(name)
    if path.name in (SPEC, "schedule.json"):
        path = path.parent
    if wanted or (path / SPEC).is_file():
        return _load(path, _by_schedule(path, wanted))
    campaign, trial_id = path.resolve().parent.parent, path.resolve().name
    if not (campaign / SPEC).is_file():
        raise UsageError(f"{word}: no trial is there; {_HOW}")
    # As it was typed, not as it resolves: messages name it so.
    return _load(path.parent.parent if len(path.parts) > 2 else campaign, _by_id(campaign, trial_id, path))


def _by_id(campaign: Path, trial_id: str, path: Path) -> Line:
    lines = ledger.read(campaign / "trials.jsonl")
    found = [line for line in lines if line["id"] == trial_id]
    if not found:
        raise UsageError(f"{path}: {campaign}/trials.jsonl has no finished trial {trial_id!r}; {_HOW}")
    if not path.is_dir():
        why = "it passed, and only what failed is kept" if found[0]["outcome"] == "PASS" else "it was removed"
        raise UsageError(f"{path}: no evidence is there: {why}; the schedule alone is {campaign}#{trial_id}")
    return found[0]


def _by_schedule(campaign: Path, wanted: str) -> Line:
    lines = [line for line in ledger.read(campaign / "trials.jsonl") if not line["control"]]
    found = [line for line in lines if wanted in ("", line["schedule"]["name"], line["id"])]
    if len(found) == 1:
        return found[0]
    if not found:
        what = (
            f"no finished trial of a schedule {wanted!r}, and none of that id,"
            if wanted
            else "no finished trial with faults"
        )
        raise UsageError(f"{campaign}: {what} is there; {_HOW}")
    ids = ", ".join(line["id"] for line in found[:5]) + (", …" if len(found) > 5 else "")
    raise UsageError(f"{campaign}: {len(found)} trials are meant: {ids}; name one by {campaign}#ID")


def _load(campaign: Path, line: Line) -> StoredTrial:
    place = campaign / "trials" / line["id"]
    if line["control"]:
        raise UsageError(f"{place}: a control has no schedule: killtest run repeats it")
    own = line["schedule"]
    drawn = Schedule(own["name"], tuple(own["faults"]), own["group"], own["seed"])
    if (place / "schedule.json").is_file():
        drawn = schedule.read(place / "schedule.json")
    drawn.parsed()
    said, found = look(campaign, line, ledger.read(campaign / "trials.jsonl"))
    return StoredTrial(campaign, stored_spec(campaign), line, drawn, said, found)


def look(campaign: Path, line: Line, lines: list[Line]) -> tuple[Answer, Evidence | None]:
    """What a trial answers by today's oracle, with its evidence; without evidence, what its line says."""
    is_kept = (campaign / "trials" / line["id"] / "course.json").is_file()
    if not is_kept or line["data"] is None:
        return answer.of_line(line), None
    who = Subject(line["subject"], ("-",), StoreNeeds("", ""), variant=line["variant"])
    control: Control | None = None if line["control"] else control_of(who, lines)
    found, verdict = judge_again(campaign, line, control)
    return answer.of_verdict(verdict, found.course), found
