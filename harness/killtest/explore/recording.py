"""A recording: one undisturbed crawl whose every durable step was seen, and the check that nothing was missed."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from killtest.conduct.conductor import Conductor
from killtest.conduct.history import History
from killtest.conduct.stage import RealStage
from killtest.errors import HarnessFailure
from killtest.explore import folder as tree_folder
from killtest.explore.disk import Disk, Tree, is_shared_memory
from killtest.halt import Halt
from killtest.judge import request_log
from killtest.judge.evidence import Course, Request
from killtest.judge.truth import Truth
from killtest.plan.effects import EffectNeeds
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.trace import step as steps
from killtest.trace.step import Step

_TRACE_DEADLINE_S = 30.0


class Recording(msgspec.Struct, frozen=True):
    """What one crawl did: its steps from the tree `begin` on, its requests, how it went.

    `store` is where the subject saw its store; `doubts` say why the steps do not explain what lies there in the end:
    then states that are derived from them are worth nothing.
    """

    steps: Sequence[Step]
    begin: Tree
    requests: tuple[Request, ...]
    course: Course
    truth: Truth
    store: Path
    doubts: tuple[str, ...]
    effects: EffectNeeds = EffectNeeds()


def record(who: Subject, site: SiteNeeds, place: Path, halt: Halt) -> Recording:
    """Run the subject once in the new folder `place`. HarnessFailure when it did not finish, or was not seen."""
    place.mkdir(parents=True)
    history = History(place / "history.jsonl")
    try:
        stage = RealStage(who, site, place, halt=halt)
        try:
            stage.is_recorded = True
            begin = tree_folder.read(stage.store)
            course = Conductor([], who.limits, stage, history).run()
            if not stage.launcher.end_trace(_TRACE_DEADLINE_S):
                raise HarnessFailure("the recording is not whole: a process lives on, or its supervisor failed")
            truth = stage.truth(course)
            stage.site.sync()
        finally:
            stage.close()
    finally:
        history.close()
    taken = steps.read(place / "steps-0.jsonl")
    requests = tuple(request_log.read(place / "site.jsonl"))
    doubts = _doubts(taken, begin, tree_folder.read(stage.store))
    if len(course.incarnations) > 1:
        doubts = (
            f"the crawl took {len(course.incarnations)} starts: the steps of the first alone are visited",
            *doubts,
        )
    return Recording(taken, begin, requests, course, truth, stage.store, doubts, who.effects)


def _doubts(taken: Sequence[Step], begin: Tree, end: Tree) -> tuple[str, ...]:
    """Where the steps, replayed, differ from what lies on the disk."""
    disk = Disk(begin)
    for one in taken:
        disk.take(one)
    names = sorted(path for path in disk.tree.keys() | end.keys() if not is_shared_memory(path, end))
    wrong = [path for path in names if disk.tree.get(path) != end.get(path)]
    return (*disk.doubts, *(f"{path}: replayed, it is not what lies on the disk" for path in wrong))
