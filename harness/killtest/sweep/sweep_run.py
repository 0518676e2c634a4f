"""Run a sweep: controls first, then a kill at each of the requests that they made, side by side.

Behind a first fault it is the start after that one which is swept: its requests are counted in a trial of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import SPEC, CampaignFolder, stored_spec, write_whole
from killtest.campaigns.campaign_run import Watcher, control_of
from killtest.campaigns.trial_line import Line
from killtest.plan.campaign import Spec, text_of
from killtest.plan.each_request import rules_for
from killtest.plan.fingerprint import fingerprint
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule
from killtest.plan.subject import label_of
from killtest.sweep import swept
from killtest.sweep.swept import Swept

RESULT = "sweep.json"
FIRST = "first"


class Order(msgspec.Struct, frozen=True):
    """What to sweep: the shop's changes, the signals, and who asked; `first` is a fault that comes before each kill."""

    subject: Subject
    site: Mapping[str, Any]
    signals: tuple[str, ...]
    argv: list[str]
    jobs: int = 1
    first: str | None = None

    @property
    def before(self) -> tuple[str, ...]:
        """The faults before each kill."""
        return () if self.first is None else (self.first,)


def run(order: Order, folder: CampaignFolder, watcher: Watcher) -> Swept:
    """Run what is not in the folder's ledger yet; the result is also written as sweep.json, last.

    A subject that fails without any fault is not killed: no kill would be to blame.
    """
    who = order.subject
    spec = _settled(order, folder)
    subjects = dict.fromkeys(spec.subjects, who)
    lines = campaign_run.run(spec, subjects, folder, watcher, order.jobs)
    last = _last(order, lines)
    if last and len(spec.schedules) == len(order.before):
        spec = msgspec.structs.replace(spec, schedules=_schedules(order, last))
        folder.extend(_text(spec, who), spec)
        lines = campaign_run.run(spec, subjects, folder, watcher, order.jobs)
    found = swept.summed(spec, lines, last)
    write_whole(folder.path / RESULT, msgspec.json.format(msgspec.json.encode(swept.as_json(found)), indent=1) + b"\n")
    return found


def _settled(order: Order, folder: CampaignFolder) -> Spec:
    """The specification, with the kills if an earlier start has got so far as to plan them."""
    label = label_of(order.subject)
    spec = Spec(name=folder.path.name, subjects=(label,), site=dict(order.site), schedules=_schedules(order, 0))
    if (folder.path / SPEC).exists():
        planned = [rule for rule in stored_spec(folder.path).schedules if rule.each]
        last = int(planned[0].between[1]) if planned else 0
        spec = msgspec.structs.replace(spec, schedules=_schedules(order, last))
    folder.settle(_text(spec, order.subject), spec, order.argv)
    return spec


def _schedules(order: Order, last: int) -> tuple[Rule, ...]:
    """The first fault alone, then a kill at each request up to `last` (0: not known yet)."""
    alone = tuple(Rule(group=FIRST, faults=(fault,)) for fault in order.before)
    return (*alone, *(rules_for(last, order.signals, order.before) if last else ()))


def _last(order: Order, lines: Sequence[Line]) -> int:
    """How many requests there are to be killed at: 0 when the subject fails before that, or makes none."""
    control = control_of(order.subject, lines)
    if control is None or control.outcome != "PASS":
        return 0
    if order.first is None:
        return control.requests or 0
    alone = next(line for line in lines if line["schedule"]["group"] == FIRST)
    return alone["incarnations"][1]["requests"] if alone["outcome"] == "PASS" and len(alone["incarnations"]) > 1 else 0


def _text(spec: Spec, who: Subject) -> str:
    return text_of(spec, f"What `killtest sweep` runs.\nsubject: sha256 {fingerprint(who)}")
