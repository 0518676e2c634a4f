"""Shrink a stored trial on real processes: every schedule that is tried is a trial of one growing campaign."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from killtest.campaigns import campaign_run, stored_trial
from killtest.campaigns.answer import Answer
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.campaigns.campaign_run import control_of
from killtest.campaigns.story import Story
from killtest.campaigns.trial_line import Line
from killtest.errors import UsageError
from killtest.plan import campaign
from killtest.plan.campaign import Spec
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule as ScheduleRule
from killtest.plan.subject import label_of
from killtest.shrink.budget import Budget, Rule
from killtest.shrink.hit import hits_of
from killtest.shrink.search import Faults, Hits, Seen, Shrunk, shrink

Told = Callable[[int, Faults, Answer, bool], None]


class Order(msgspec.Struct, frozen=True):
    """What to shrink: faults that hit `hits` and gave `goal`; how much it may cost; `rule` instead of the usual one."""

    subject: Subject
    site: Mapping[str, Any]
    faults: Faults
    hits: Hits
    goal: Answer
    argv: list[str]
    runs: int
    seconds: float
    same_keys: bool = False
    rule: Rule | None = None


class Found(msgspec.Struct, frozen=True):
    """The search's result, what it cost, and for a schedule found the line and the answer of its last run."""

    shrunk: Shrunk
    runs: int
    seconds: float
    line: Line | None
    answer: Answer | None


def run(order: Order, folder: CampaignFolder, told: Told) -> Found:
    """Search in the new folder; `told` hears of each run. UsageError when the subject fails without any fault."""
    budget = Budget(order.runs, order.seconds, time.monotonic)
    runner = _Runner(order, folder, told)
    runner.control()
    shrunk = shrink(order.faults, order.hits, runner, budget, order.rule)
    line, said = runner.gave.get(shrunk.faults or (), (None, None))
    return Found(shrunk, budget.runs, round(budget.spent_s, 1), line, said)


class _Runner:
    """Runs schedules, each as one more group of the campaign; `gave` keeps what gave the findings wanted."""

    def __init__(self, order: Order, folder: CampaignFolder, told: Told) -> None:
        self._order = order
        self._folder = folder
        self._told = told
        self._label = label_of(order.subject)
        self._spec = Spec(folder.path.name, (self._label,), controls=1, again=0, keep="always", site=dict(order.site))
        self.gave: dict[Faults, tuple[Line, Answer]] = {}

    def control(self) -> None:
        """The control alone."""
        self._folder.settle(self._text(), self._spec, self._order.argv)
        control = control_of(self._order.subject, self._lines())
        if control is None or control.outcome != "PASS":
            name = self._order.subject.name
            raise UsageError(f"{name} comes to no PASS without any fault now; no kill is to blame: {self._folder.path}")

    def __call__(self, faults: Faults) -> Seen:
        """Run the schedule once."""
        number = len(self._spec.schedules) + 1
        rule = ScheduleRule(group=f"try-{number:03d}", faults=tuple(fault.text for fault in faults))
        self._spec = msgspec.structs.replace(self._spec, schedules=(*self._spec.schedules, rule))
        self._folder.extend(self._text(), self._spec)
        lines = self._lines()
        said, evidence = stored_trial.look(self._folder.path, lines[-1], lines)
        is_same = said.is_like(self._order.goal, self._order.same_keys)
        if is_same:
            self.gave[faults] = lines[-1], said
        self._told(number, faults, said, is_same)
        return Seen(is_same, hits_of(evidence) if evidence else ())

    def _lines(self) -> list[Line]:
        subjects = {self._label: self._order.subject}
        return campaign_run.run(self._spec, subjects, self._folder, Story(quiet=True))

    def _text(self) -> str:
        return campaign.text_of(self._spec, "What `killtest shrink` has tried.")
