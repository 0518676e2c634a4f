"""Run animals: each is a small campaign of bug and twin, several side by side, all compared with what was expected."""

import contextlib
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import NamedTuple

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.campaigns.story import Story
from killtest.campaigns.trial_line import Line
from killtest.halt import Halt
from killtest.plan import campaign
from killtest.plan.campaign import Spec
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule
from killtest.zoo import animal
from killtest.zoo.animal import Animal
from killtest.zoo.difference import Difference, differences
from killtest.zoo.expectation import Expectation

_GROUP = "zoo"


class Program(NamedTuple):
    """One of an animal's two programs: its trials, and for each what came out otherwise than expected."""

    subject: Subject
    said: Expectation
    control: Line
    trials: tuple[Line, ...]
    found: tuple[tuple[Difference, ...], ...]

    @property
    def agrees(self) -> bool:
        """True when every trial came out as expected."""
        return not any(self.found)


class Visit(NamedTuple):
    """What was seen of one animal; `place` is its campaign's folder, which is there only when something differs."""

    animal: Animal
    bug: Program
    sound: Program
    place: Path

    @property
    def agrees(self) -> bool:
        """True when both programs came out as expected, in all runs."""
        return self.bug.agrees and self.sound.agrees


class Order(NamedTuple):
    """How to run: so many trials of each program, so many animals side by side, and who asked."""

    runs: int
    jobs: int
    argv: list[str]


def run(animals: Sequence[Animal], order: Order, results: Path, told: Callable[[Visit], None]) -> list[Visit]:
    """Visit the animals, in a new folder below `results`; `told` hears of each as it is done.

    UsageError before anything starts when one can't be run. Whatever ends it early ends every running trial; the
    evidence of what agrees, or is not finished, is removed.
    """
    for each in animals:
        animal.check_runnable(each)
    place = numbered(results, "zoo")
    halt = Halt()
    visits: dict[str, Visit] = {}
    try:
        calls = [partial(_visit, each, order, place / each.kind, halt) for each in animals]
        with halt.side_by_side(order.jobs, calls) as futures:
            for future in as_completed(futures):
                visits[future.result().animal.kind] = future.result()
                told(future.result())
    finally:
        with contextlib.suppress(OSError):  # not empty: something differs
            place.rmdir()
    return [visits[each.kind] for each in animals]


def _visit(one: Animal, order: Order, place: Path, halt: Halt) -> Visit:
    visit = None
    try:
        visit = _compared(one, _lines(one, order, place, halt), place)
        return visit
    finally:
        if visit is None or visit.agrees:
            shutil.rmtree(place, ignore_errors=True)


def _lines(one: Animal, order: Order, place: Path, halt: Halt) -> list[Line]:
    """The ledger of the animal's campaign: a control of each program, then its trials."""
    subjects = {one.word: one.bug, f"{one.word}:{animal.TWIN}": one.sound}
    faults = one.expected.faults
    spec = Spec(
        name=one.kind,
        subjects=tuple(subjects),
        schedules=(Rule(_GROUP, trials=order.runs, faults=faults),) if faults else (),
        controls=1 if faults else order.runs,
        keep="always",
    )
    folder = CampaignFolder(place)
    try:
        folder.settle(campaign.text_of(spec, "What `killtest zoo` runs of one animal."), spec, order.argv)
        return campaign_run.run(spec, subjects, folder, Story(quiet=True), halt=halt)
    finally:
        folder.close()


def _compared(one: Animal, lines: list[Line], place: Path) -> Visit:
    bug = _program(one.bug, one.expected.bug, lines)
    sound = _program(one.sound, one.expected.sound, lines)
    return Visit(one, bug, sound, place)


def _program(who: Subject, said: Expectation, lines: list[Line]) -> Program:
    own = [line for line in lines if line["variant"] == who.variant]
    controls = [line for line in own if line["control"]]
    # Without a fault the controls are the trials.
    trials = tuple(line for line in own if not line["control"]) or tuple(controls)
    found = tuple(tuple(differences(said, trial, controls[0])) for trial in trials)
    return Program(who, said, controls[0], trials, found)
