"""One trial: a subject under a schedule, in a folder of its own, from the first process to complete evidence."""

import shutil
from pathlib import Path

import msgspec

from killtest.conduct.conductor import Conductor, Starts
from killtest.conduct.history import History, Listener
from killtest.conduct.stage import RealStage
from killtest.errors import HarnessFailure, UsageError
from killtest.halt import Halt
from killtest.judge import evidence
from killtest.judge import truth as truths
from killtest.judge.evidence import Counts, Evidence
from killtest.plan import schedule
from killtest.plan.campaign import Planned
from killtest.plan.manifest import SiteNeeds

_TRACE_DEADLINE_S = 10.0


def run(
    planned: Planned,
    site: SiteNeeds,
    folder: Path,
    listener: Listener | None = None,
    inherit: tuple[int, ...] = (),
    halt: Halt | None = None,
) -> Evidence:
    """Run the trial in the new folder `folder` and return its evidence, which is also on disk there.

    Whatever the trial started has ended when this returns or raises. HarnessFailure is our own failure;
    UsageError means that the subject could not be started at all. `halt`, called from another thread, ends the trial.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "schedule.json").write_bytes(schedule.to_json(planned.schedule))
    (folder / "site.json").write_bytes(msgspec.json.encode(site) + b"\n")
    evidence.write_effects(folder, planned.subject.effects)
    history = History(folder / "history.jsonl", listener)
    try:
        stage = RealStage(planned.subject, site, folder, inherit, halt)
        try:
            _conduct(planned, stage, history)
        finally:
            stage.close()
    finally:
        history.close()
    try:
        return evidence.read(folder, planned.is_control, len(planned.schedule.faults))
    except UsageError as error:  # what we wrote a moment ago: if it can't be read, we failed
        raise HarnessFailure(str(error)) from error


def _conduct(planned: Planned, stage: RealStage, history: History) -> None:
    faults = planned.schedule.parsed()
    stage.is_traced = any(fault.trigger.kind == "syscall" for fault in faults)
    history.note("stage", url=stage.url, isolated=stage.launcher.is_isolated, env=stage.environment(0))
    who = planned.subject
    course = Conductor(faults, who.limits, stage, history, Starts(who.instances, again=planned.again)).run()
    if stage.is_traced and not stage.launcher.end_trace(_TRACE_DEADLINE_S):
        raise HarnessFailure("the supervisor of the subject's calls failed: what came of them is not its doing")
    truth = stage.truth(course)
    (stage.folder / "truth.json").write_bytes(truths.to_json(truth))
    # Counted before the log is written out: all of these are in it, and what came meanwhile may not be.
    counts = Counts(requests=sum(stage.site.requests()), products=len(truth.rows))
    stage.site.sync()
    evidence.write_course(stage.folder, course, counts)
