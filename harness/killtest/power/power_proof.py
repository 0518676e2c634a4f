"""`--power-proof`: some of the moments on a real ext4, whose power is cut there, against what the model says."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from killtest.conduct.stage import RealStage
from killtest.errors import HarnessFailure
from killtest.explore import explore_run
from killtest.explore import folder as tree_folder
from killtest.explore.crash_point import Arrivals, CrashPoint
from killtest.explore.disk import Tree, digest, is_shared_memory
from killtest.explore.exploration import Judged, judge_all
from killtest.explore.explore_run import Order, Teller
from killtest.explore.recording import Recording
from killtest.explore.recovery import Recovery, recover_all
from killtest.halt import Halt
from killtest.judge.verdict import Control, Outcome
from killtest.plan.manifest import SiteNeeds
from killtest.power import ext4_disk
from killtest.power.ext4_disk import Ext4Disk
from killtest.power.power_disk import PowerDisk
from killtest.power.power_model import flushed, left
from killtest.process import isolation
from killtest.trace import step as steps
from killtest.trace.step import Step
from killtest.trace.supervisor import ANY

_PARTS_S = 30.0
_PLACE = "real-disk"
# What was flushed when the power went, in words, and the name of the model that says what is left then.
_CUTS = {ext4_disk.NOTHING_FLUSHED: "ext4", ext4_disk.LOG_FLUSHED: "ext4, journal flushed"}


class RealCut(msgspec.Struct, frozen=True):
    """One cut on the real disk, before step `k` (None: right after exit 0), and what was found there.

    `same_as` are the models that say the same byte for byte, `differs` the files of which `model` says something else;
    `rows` lay there (None: the store can't be read), `outcome` is what came of a start on it and `kind` what was wrong.
    `problem`: it was not tried, and why.
    """

    k: int | None
    what: str
    model: str
    same_as: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    rows: int | None = None
    outcome: Outcome | None = None
    kind: str = ""
    problem: str = ""


class Proof(msgspec.Struct, frozen=True):
    """All that were tried; `refusal` says why none could be."""

    cuts: Sequence[RealCut] = ()
    refusal: str = ""


class _Found(msgspec.Struct, frozen=True):
    cut: RealCut
    # Of one that was tried.
    point: CrashPoint | None = None
    tree: Tree = {}


def refusal() -> str:
    """Why this machine does not allow it; empty when nothing is known to stand against it."""
    return ext4_disk.refusal() or ("" if isolation.prefix() else "it needs namespaces (killtest doctor)")


class Trials(msgspec.Struct, frozen=True):
    """What is tried, and where: an order, its recording with the control's verdict, a folder for what comes of it."""

    order: Order
    site: SiteNeeds
    place: Path
    taken: Recording
    control: Control


def prove(trials: Trials, count: int, teller: Teller) -> Proof:
    """Cut the power at `count` steps spread over the recording and after exit, each with and without the journal."""
    no = refusal()
    if no:
        return Proof(refusal=no)
    chosen, halt = sample(trials.taken.steps, count), Halt()
    words = "cutting the power of a real ext4"
    try:
        # A thread, for its mounts are seen by nobody else and end with it.
        with teller.stage(words, len(chosen) * len(_CUTS)) as done:
            cuts = partial(_cut_all, trials, chosen, halt, done)
            with halt.side_by_side(1, [cuts]) as (future,):
                try:
                    found = future.result()
                except OSError as error:
                    return Proof(refusal=str(error))
    finally:
        shutil.rmtree(trials.place / _PLACE, ignore_errors=True)
    return Proof(_judged(found, trials))


def _cut_all(trials: Trials, chosen: Sequence[Step | None], halt: Halt, done: Callable[[], None]) -> list[_Found]:
    """Every cut. OSError when this machine makes no disk; a failure of ours is the problem of that one cut."""
    ext4_disk.make_mounts_private()
    found = []
    for step in chosen:
        for flag in _CUTS:
            try:
                found.append(_cut(trials, step, flag, halt))
            except HarnessFailure as error:
                found.append(_untried(step, flag, str(error)))
            done()
    return found


def _untried(step: Step | None, flag: int, problem: str) -> _Found:
    return _Found(RealCut(step.k if step else None, _what(step), _CUTS[flag], problem=problem))


def _what(step: Step | None) -> str:
    return f"{step.call} {step.path}" if step else "the end"


def sample(recorded: Sequence[Step], count: int) -> list[Step | None]:
    """So many steps at equal distances, none twice; None behind them stands for the exit."""
    count = min(count, len(recorded))
    return [*(recorded[(2 * number + 1) * len(recorded) // (2 * count)] for number in range(count)), None]


def _cut(trials: Trials, step: Step | None, flag: int, halt: Halt) -> _Found:
    """Crawl on a disk of its own up to that step, cut the power, and see what is left."""
    place, taken = trials.place / _PLACE, trials.taken
    shutil.rmtree(place, ignore_errors=True)
    disk = Ext4Disk(place / "disk")
    try:
        (disk.root / "store").mkdir()
        stage = RealStage(trials.order.subject, trials.site, place / "trial", halt=halt)
        try:
            problem = _crawl(stage, disk, step, flag)
        finally:
            stage.close()
        disk.restart()
        real = tree_folder.read(disk.root / "store")
    finally:
        disk.close()
    if problem:
        return _untried(step, flag, problem)
    state, (arrived, last) = digest(real), Arrivals(taken.requests).until(step)
    point = CrashPoint(step.k if step else len(taken.steps) + 1, step, arrived, last, state, state)
    cut = RealCut(step.k if step else None, _what(step), _CUTS[flag])
    model = _as_run(place / "trial" / "steps-0.jsonl", taken.begin, step)
    return _Found(_compared(cut, model, real, flag), point, real)


def _crawl(stage: RealStage, disk: Ext4Disk, step: Step | None, flag: int) -> str:
    """Have the subject at that step, on the disk, and cut its power; why it never got there."""
    store = disk.root / "store"
    tree_folder.write(tree_folder.read(stage.store), store)
    disk.sync()
    stage.launcher.bind(store, stage.seen)
    stage.store, stage.is_recorded = store, True
    stage.site.begin(0, [])
    if step is not None:
        stage.launcher.arm_step(ANY, step.k)
    stage.launcher.start(stage.order(0))
    ends_s = stage.now() + stage.subject.limits.total_s
    event = stage.next_event(ends_s)
    while event is not None and event["event"] not in ("step", "exit"):
        event = stage.next_event(ends_s)
    if event is None or (event["event"] == "exit") != (step is None):
        return "this crawl did not get there" if event else "this crawl took too long"
    disk.cut(flag)
    stage.launcher.strike("KILL", "tree", stage.subject.limits.hold_s)
    stage.launcher.release_step()
    stage.launcher.end_subject()
    if not stage.launcher.end_trace(_PARTS_S):
        raise HarnessFailure(f"the supervisor of the subject's calls failed; see {stage.folder}")
    return ""


def _as_run(log: Path, begin: Tree, before: Step | None) -> PowerDisk:
    """The model behind the steps of that very crawl: no two write the same bytes."""
    disk = PowerDisk(begin)
    for one in steps.read_all(log):
        if before is not None and one.k == before.k:
            break  # it was seen, and is in the log, but was not done any more
        disk.take(one)
    return disk


def _compared(cut: RealCut, disk: PowerDisk, real: Tree, flag: int) -> RealCut:
    """What the models say and what is there, but for SQLite's shared memory."""
    states = {one.model: one.tree for one in left(disk, None) if not one.detail}
    if flag == ext4_disk.LOG_FLUSHED:
        states[cut.model] = flushed(disk)
    wanted = states[cut.model]
    names = sorted(path for path in wanted.keys() | real.keys() if not is_shared_memory(path, wanted))
    return msgspec.structs.replace(
        cut,
        same_as=tuple(model for model, tree in states.items() if digest(tree) == digest(real)),
        differs=tuple(path for path in names if wanted.get(path) != real.get(path)),
    )


def _judged(found: Sequence[_Found], trials: Trials) -> list[RealCut]:
    """Start the crawler on what was left."""
    order, taken = trials.order, trials.taken
    points = [one.point for one in found if one.point is not None]
    trees = {one.point.group: one.tree for one in found if one.point is not None}
    benches = explore_run.benches_of(order, trials.site, trials.place, taken)
    recoveries = recover_all(trees, benches, lambda: None)
    verdicts = iter(judge_all(points, recoveries, taken, trials.control))
    return [
        one.cut if one.point is None else _came(one.cut, recoveries[one.point.group], next(verdicts)) for one in found
    ]


def _came(cut: RealCut, recovery: Recovery, judged: Judged) -> RealCut:
    rows = None if recovery.found.error else len(recovery.found.rows)
    return msgspec.structs.replace(cut, rows=rows, outcome=judged.outcome, kind=judged.kind)


def lines(proof: Proof | None) -> Iterator[str]:
    """The proof in words; nothing where none was asked for."""
    if proof is None:
        return
    yield ""
    if proof.refusal:
        yield f"nothing was tried on a real ext4: {proof.refusal}; the states of the models stand as they are"
        return
    for model in _CUTS.values():
        cuts = [one for one in proof.cuts if one.model == model and not one.problem]
        same = sum(not one.differs for one in cuts)
        yield f"on a real ext4 ({model}): {same} of {len(cuts)} cuts left byte for byte what the model says"
    for one in proof.cuts:
        yield f"  {_line(one)}"


def _line(one: RealCut) -> str:
    where = f"{one.model}: before step {one.k}, {one.what}" if one.k else f"{one.model}: right after the exit"
    if one.problem:
        return f"{where}: not tried: {one.problem}"
    found = f"other than said: {', '.join(one.differs)}" if one.differs else "as said"
    rows = "a store that can't be read" if one.rows is None else f"{one.rows} row{'' if one.rows == 1 else 's'}"
    return f"{where}: {found}, {rows}; {f'FAIL {one.kind}' if one.outcome == 'FAIL' else one.outcome} after a start"
