"""Run a sweep: controls first, then a kill at each of the requests that they made, side by side."""

from collections.abc import Mapping
from typing import Any

import msgspec

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import SPEC, CampaignFolder, stored_spec, write_whole
from killtest.campaigns.campaign_run import Watcher, control_of
from killtest.plan.campaign import Spec, text_of
from killtest.plan.each_request import rules_for
from killtest.plan.fingerprint import fingerprint
from killtest.plan.manifest import Subject
from killtest.plan.subject import label_of
from killtest.sweep import swept
from killtest.sweep.swept import Swept

RESULT = "sweep.json"


class Order(msgspec.Struct, frozen=True):
    """What to sweep: the shop's changes, the signals, and who asked."""

    subject: Subject
    site: Mapping[str, Any]
    signals: tuple[str, ...]
    argv: list[str]
    jobs: int = 1


def run(order: Order, folder: CampaignFolder, watcher: Watcher) -> Swept:
    """Run what is not in the folder's ledger yet; the result is also written as sweep.json, last.

    A subject that fails without any fault is not killed: no kill would be to blame.
    """
    who = order.subject
    spec = _settled(order, folder)
    subjects = dict.fromkeys(spec.subjects, who)
    lines = campaign_run.run(spec, subjects, folder, watcher, order.jobs)
    control = control_of(who, lines)
    requests = control.requests if control and control.outcome == "PASS" else 0
    if requests and not spec.schedules:
        spec = msgspec.structs.replace(spec, schedules=rules_for(requests, order.signals))
        folder.extend(_text(spec, who), spec)
        lines = campaign_run.run(spec, subjects, folder, watcher, order.jobs)
    found = swept.summed(spec, lines, requests or 0)
    write_whole(folder.path / RESULT, msgspec.json.format(msgspec.json.encode(swept.as_json(found)), indent=1) + b"\n")
    return found


def _settled(order: Order, folder: CampaignFolder) -> Spec:
    """The specification, with the kills if an earlier start has got so far as to plan them."""
    label = label_of(order.subject)
    spec = Spec(name=folder.path.name, subjects=(label,), site=dict(order.site))
    if (folder.path / SPEC).exists():
        planned = stored_spec(folder.path).schedules
        last = int(planned[0].between[1]) if planned else 0
        spec = msgspec.structs.replace(spec, schedules=rules_for(last, order.signals) if planned else ())
    folder.settle(_text(spec, order.subject), spec, order.argv)
    return spec


def _text(spec: Spec, who: Subject) -> str:
    return text_of(spec, f"What `killtest sweep` runs.\nsubject: sha256 {fingerprint(who)}")
