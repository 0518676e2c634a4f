"""Run a campaign: every trial once, each in the ledger as soon as it is finished, from wherever it was."""

import shutil
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from killtest import machine
from killtest.campaigns.campaign_folder import SPEC, CampaignFolder
from killtest.campaigns.trial_line import Line, reproduce, to_line
from killtest.conduct import trial
from killtest.conduct.history import Entry
from killtest.errors import KilltestError, UsageError
from killtest.halt import Halt
from killtest.judge import evidence, verdict
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Control, Verdict
from killtest.plan.campaign import Planned, Spec, plan, site_of
from killtest.plan.manifest import Subject


class Watcher(Protocol):
    """Told how a campaign goes on: the progress bar, or the story of a single run."""

    def campaign_began(self, trials: list[Planned], finished: set[str]) -> None:
        """All trials, and the ids of those that an earlier start has finished."""

    def trial_began(self, planned: Planned) -> None:
        """A trial begins."""

    def heard(self, trial_id: str, entry: Entry) -> None:
        """An entry of a running trial's history; several trials may be running."""

    def trial_ended(self, line: Line) -> None:
        """A trial is finished and in the ledger."""


def run(
    spec: Spec,
    subjects: Mapping[str, Subject],
    folder: CampaignFolder,
    watcher: Watcher,
    jobs: int = 1,
    halt: Halt | None = None,
) -> list[Line]:
    """Run what is not in the ledger yet, the controls first, then `jobs` trials side by side; all its lines.

    Whatever ends it early (Ctrl-C, a subject that can't be started, `halt` called from another thread) ends every
    running trial; those are not in the ledger and run again from the start next time.
    """
    trials = plan(spec, dict(subjects))
    kept = {line["id"] for line in folder.ledger.lines if _is_kept(spec, line)}
    folder.sweep(kept)
    finished = folder.ledger.finished()
    watcher.campaign_began(trials, finished)
    runner = _Runner(spec, folder, watcher, halt or Halt())
    left = [planned for planned in trials if planned.id not in finished]
    alone = [planned for planned in left if planned.is_control or jobs == 1]
    for planned in alone:
        runner.run(planned)
    if len(alone) < len(left):
        runner.run_side_by_side([planned for planned in left if planned not in alone], jobs)
    return folder.ledger.lines


class _Runner:
    """Runs trials; ledger and watcher hear of them one at a time, from whatever thread."""

    def __init__(self, spec: Spec, folder: CampaignFolder, watcher: Watcher, halt: Halt) -> None:
        self._spec = spec
        self._folder = folder
        self._watcher = watcher
        self._halt = halt
        self._lock = threading.Lock()

    def run_side_by_side(self, trials: list[Planned], jobs: int) -> None:
        """Run them in `jobs` threads; the first that raises, or a signal to this thread, ends them all."""
        with self._halt.side_by_side(jobs, [partial(self.run, planned) for planned in trials]) as futures:
            for future in as_completed(futures):
                future.result()

    def run(self, planned: Planned) -> None:
        """Run one trial to its line in the ledger."""
        self._halt.check()
        with self._lock:
            self._watcher.trial_began(planned)
        line = self._line(planned)
        place = self._folder.trial(planned.id)
        with self._lock:
            # A trial that was halted looks like a failure of ours; it is none, and it must not be written down.
            self._halt.check()
            self._folder.ledger.append(line)
            self._watcher.trial_ended(line)
        if not _is_kept(self._spec, line):
            shutil.rmtree(place)

    def _line(self, planned: Planned) -> Line:
        spec, folder = self._spec, self._folder
        site = site_of(planned.subject.site, spec.site, spec.name)
        weather = machine.weather(folder.path)
        place = folder.trial(planned.id)
        control = None if planned.is_control else control_of(planned.subject, folder.ledger.lines)
        ear = _Ear(planned.id, self._watcher, self._lock)
        found, answer = attempt(
            lambda: trial.run(planned, site, place, ear, inherit=(folder.lock,), halt=self._halt),
            lambda found: verdict.judge(found, control),
            place,
        )
        if planned.is_control and found is not None:
            check_store(planned, found, place)
        line = to_line(planned, spec.name, answer, found)
        line["machine"] = msgspec.to_builtins(weather)
        line["evidence"] = f"trials/{planned.id}" if _is_kept(spec, line) else None
        line["reproduce"] = reproduce(
            planned, str(folder.path / SPEC), [*site_words(planned, spec.site), *limit_words(spec)]
        )
        return line


class _Ear:
    """Hears one trial's history and passes it on with the trial's id."""

    def __init__(self, trial_id: str, watcher: Watcher, lock: threading.Lock) -> None:
        self._trial_id = trial_id
        self._watcher = watcher
        self._lock = lock

    def heard(self, entry: Entry) -> None:
        """Pass one entry on."""
        with self._lock:
            self._watcher.heard(self._trial_id, entry)


def check_store(planned: Planned, found: Evidence, place: Path) -> None:
    """UsageError when an undisturbed crawl ended well and the manifest's store is not there, or can't be asked."""
    if found.course.ending not in ("finished", "unreadable_store"):
        return
    proper = sum(not one.is_again for one in found.course.incarnations)
    last, needs, who = found.course.snapshots[proper - 1], planned.subject.store, planned.subject.name
    if last.is_mistake:
        raise UsageError(f"{who}: {last.error}; see the store in {place / 'store'}")
    if last.instead:
        names = ", ".join(last.instead)
        raise UsageError(f"{who}: store {needs.path}: no column {needs.key!r}, only {names}; see {place / 'store'}")
    if not last.exists and needs.reader == "postgres":
        raise UsageError(f"{who}: it ended with 0, and the server has no such table: {needs.query}")
    if not last.exists:
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


def limit_words(spec: Spec) -> list[str]:
    """The `--total-s` words of a campaign that sets how long a trial may last."""
    return [] if spec.total_s is None else ["--total-s", f"{spec.total_s:g}"]


def judge_again(folder: Path, line: Line, control: Control | None) -> tuple[Evidence, Verdict]:
    """Today's verdict on the kept evidence of a finished trial; UsageError when the evidence is gone."""
    place = folder / "trials" / line["id"]
    found = evidence.read(place, line["control"], len(line["schedule"]["faults"]))
    return found, verdict.judge(found, control)


def _is_kept(spec: Spec, line: Line) -> bool:
    return spec.keep == "always" or line["outcome"] != "PASS"
