"""Run a campaign: every trial once, each finished one in the ledger before the next begins, from wherever it was."""

import shutil
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from killtest import evidence, machine, trial, verdict
from killtest.campaign import Planned, Spec, plan, site_of
from killtest.campaign_folder import SPEC, CampaignFolder
from killtest.errors import KilltestError, UsageError
from killtest.evidence import Evidence
from killtest.history import Entry
from killtest.manifest import Subject
from killtest.trial_line import Line, reproduce, to_line
from killtest.verdict import Control, Verdict


class Watcher(Protocol):
    """Told how a campaign goes on: the progress bar, or the story of a single run."""

    def campaign_began(self, trials: list[Planned], finished: set[str]) -> None:
        """All trials, and the ids of those that an earlier start has finished."""

    def trial_began(self, planned: Planned) -> None:
        """A trial begins."""

    def heard(self, entry: Entry) -> None:
        """An entry of the running trial's history."""

    def trial_ended(self, line: Line) -> None:
        """A trial is finished and in the ledger."""


def run(spec: Spec, subjects: Mapping[str, Subject], folder: CampaignFolder, watcher: Watcher) -> list[Line]:
    """Run what is not in the ledger yet; all lines of the campaign."""
    trials = plan(spec, dict(subjects))
    kept = {line["id"] for line in folder.ledger.lines if _is_kept(spec, line)}
    folder.sweep(kept)
    watcher.campaign_began(trials, folder.ledger.finished())
    for planned in trials:
        if planned.id not in folder.ledger.finished():
            watcher.trial_began(planned)
            line = _run_one(planned, spec, folder, watcher)
            watcher.trial_ended(line)
    return folder.ledger.lines


def _run_one(planned: Planned, spec: Spec, folder: CampaignFolder, watcher: Watcher) -> Line:
    site = site_of(planned.subject.site, spec.site, spec.name)
    weather = machine.weather(folder.path)
    place = folder.trial(planned.id)
    control = None if planned.is_control else control_of(planned.subject, folder.ledger.lines)
    found, answer = attempt(
        lambda: trial.run(planned, site, place, watcher, inherit=(folder.lock,)),
        lambda found: verdict.judge(found, control),
        place,
    )
    if planned.is_control and found is not None:
        check_store(planned, found, place)
    line = to_line(planned, spec.name, answer, found)
    line["machine"] = msgspec.to_builtins(weather)
    line["evidence"] = f"trials/{planned.id}" if _is_kept(spec, line) else None
    line["reproduce"] = reproduce(planned, str(folder.path / SPEC), site_words(planned, spec.site))
    folder.ledger.append(line)
    if not _is_kept(spec, line):
        shutil.rmtree(place)
    return line


def check_store(planned: Planned, found: Evidence, place: Path) -> None:
    """UsageError when an undisturbed crawl ended well and the manifest's store is not there, or can't be asked."""
    if found.course.ending not in ("finished", "unreadable_store"):
        return
    first, needs, who = found.course.snapshots[0], planned.subject.store, planned.subject.name
    if first.is_mistake:
        raise UsageError(f"{who}: {first.error}; see the store in {place / 'store'}")
    if not first.exists:
        there = sorted(str(path.relative_to(place)) for path in (place / "store").rglob("*") if path.is_file())
        raise UsageError(
            f"{who}: its store {needs.reader}:{needs.path} never appeared, but it ended with 0. In {place} there is: "
            f"{', '.join(there[:10]) or 'no file'}. Is the path of the store right, and the table of the query?"
        )


def attempt(
    gather: Callable[[], Evidence], judge: Callable[[Evidence], Verdict], place: Path
) -> tuple[Evidence | None, Verdict]:
    """Evidence and verdict; whatever goes wrong with us on the way is UNKNOWN, with the traceback beside the evidence.

    UsageError passes: a subject that can't be started is the caller's to mend.
    """
    found = None
    try:
        found = gather()
        return found, judge(found)
    except UsageError:
        raise
    except Exception as error:  # the trial boundary: our failure must not end the campaign, nor pass for a verdict
        place.mkdir(parents=True, exist_ok=True)
        (place / "failure.txt").write_text(traceback.format_exc(), "utf-8")
        kind = "" if isinstance(error, KilltestError) else f"{type(error).__name__}: "
        return found, verdict.unknown(f"{kind}{error} (traceback in {place / 'failure.txt'})")


def control_of(subject: Subject, lines: Iterable[Line]) -> Control | None:
    """What the controls of this subject and variant showed; None when none was run."""
    own = [
        line
        for line in lines
        if line["control"] and (line["subject"], line["variant"]) == (subject.name, subject.variant)
    ]
    if not own:
        return None
    traffic = own[0]["traffic"]
    return Control(verdict.worst([line["outcome"] for line in own]), traffic["requests"] if traffic else None)


def site_words(planned: Planned, changes: Mapping[str, Any]) -> list[str]:
    """The `--site` words of a campaign's changes to the site, where they change anything for this subject."""
    needs = msgspec.to_builtins(planned.subject.site)
    return [word for key, value in changes.items() if needs[key] != value for word in ("--site", f"{key}={value}")]


def judge_again(folder: Path, line: Line, control: Control | None) -> tuple[Evidence, Verdict]:
    """Today's verdict on the kept evidence of a finished trial; UsageError when the evidence is gone."""
    place = folder / "trials" / line["id"]
    found = evidence.read(place, line["control"], len(line["schedule"]["faults"]))
    return found, verdict.judge(found, control)


def _is_kept(spec: Spec, line: Line) -> bool:
    return spec.keep == "always" or line["outcome"] != "PASS"
