"""A campaign of one subject under one schedule: what `killtest run` and the pytest fixture `killtest` make."""

from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.campaigns.campaign_run import Watcher, control_of
from killtest.campaigns.trial_line import Line
from killtest.plan import campaign, subject
from killtest.plan.campaign import Spec
from killtest.plan.fault_text import parse
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Rule, Schedule
from killtest.plan.suitability import check_faults
from killtest.reload import code_copy

# How bad a control alone came out; of equals the last is shown.
_WORST_LAST = ("PASS", "UNKNOWN", "FAIL")


class Order(msgspec.Struct, frozen=True):
    """What to run.

    `rule` gives one schedule: its `faults`, or without them `kills` draws among the page requests of the
    first control, whatever its `between` says; None for the controls alone. `site` changes what the manifest
    asks for. `heading` says who asked, `argv` how. With `has_manifest` the subject is described by a file
    beside its evidence, for a subject that no command line can name. `total_s` is how long a trial may last, if not as
    long as the manifest says.
    """

    subject: Subject
    rule: Rule | None
    argv: list[str]
    heading: str
    site: dict[str, Any] = {}
    controls: int = 2
    seed: str = "1"
    has_manifest: bool = False
    total_s: float | None = None


def run(order: Order, results: Path, watcher: Watcher) -> tuple[Line, Path]:
    """Run the order in a new folder below `results`: the line of its trial, and that folder.

    Without a schedule the trial is the worst of the controls. UsageError before anything is written when the
    subject can't be run on that site.
    """
    subject.check_runnable(order.subject)
    site = campaign.site_of(order.subject.site, order.site, order.subject.name)
    check_faults(order.rule.faults if order.rule else (), order.subject, site, order.subject.name)
    folder = CampaignFolder(numbered(results, f"run-{order.subject.name}"))
    try:
        if order.has_manifest:
            described = _write_manifest(order.subject, folder.path)
            order = msgspec.structs.replace(order, subject=described)
        return _conduct(order, folder, watcher), folder.path
    finally:
        folder.close()


def rule_of(schedule: Schedule) -> Rule | None:
    """The rule that gives this schedule; None when it holds no fault."""
    return Rule(group=schedule.name, faults=schedule.faults) if schedule.faults else None


def schedule_of(faults: tuple[str, ...]) -> Schedule:
    """Written faults as a schedule, named after the first of them; UsageError for one that can't be read."""
    return Schedule(_name_of(faults), tuple(parse(text).text for text in faults))


def _name_of(faults: tuple[str, ...]) -> str:
    if not faults:
        return "control"
    words = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in faults[0]).strip("-")
    words = words[:60].rstrip("-")
    return words if len(faults) == 1 else f"{words}-and-{len(faults) - 1}-more"


def _conduct(order: Order, folder: CampaignFolder, watcher: Watcher) -> Line:
    who, rule = order.subject, order.rule
    is_written = rule is not None and bool(rule.faults)
    spec = _spec(order, folder.path.name, rule if is_written else None)
    folder.settle(campaign.text_of(spec, order.heading), spec, order.argv)
    lines = campaign_run.run(spec, {who.name: who}, folder, watcher)
    if is_written:
        return lines[-1]
    control = control_of(who, lines)
    if rule is None or control is None or not control.requests:
        return max(reversed(lines), key=lambda line: _WORST_LAST.index(line["outcome"]))
    spec = _spec(order, folder.path.name, msgspec.structs.replace(rule, between=(1, control.requests)))
    folder.extend(campaign.text_of(spec, order.heading), spec)
    return campaign_run.run(spec, {who.name: who}, folder, watcher)[-1]


def _spec(order: Order, name: str, rule: Rule | None) -> Spec:
    # Without written faults a control is needed: as the trial itself, or to draw from.
    controls = order.controls if order.rule and order.rule.faults else max(1, order.controls)
    return Spec(
        name=name,
        subjects=(order.subject.name,),
        schedules=(rule,) if rule else (),
        seed=order.seed,
        controls=controls,
        keep="always",
        site=order.site,
        total_s=order.total_s,
    )


def _write_manifest(who: Subject, folder: Path) -> Subject:
    """Write what `manifest.load` reads back as this subject, variant applied and files absolute.

    Code that a reload edits is named below the manifest's folder: it is copied there, as it was.
    """
    place, absolute = folder, {"python": "{python}"}  # stays as it is: whoever repeats the run fills in their own
    table = msgspec.to_builtins(who)
    if who.reload:
        place = folder / "subject"
        code_copy.make(Path(who.folder), place)
    else:
        commands = [subject.command_line(command, who.folder, absolute) for command in (who.command, *who.setup)]
        table |= {"command": commands[0], "setup": commands[1:]}
        if who.restart:
            table["restart"] = subject.command_line(who.restart, who.folder, absolute)
    path = place / subject.MANIFEST
    for name in ("variants", "variant", "folder", "source"):
        del table[name]
    told = _without_none(table)
    path.write_text("# The subject as it was run; killtest run takes the path of this file.\n" + tomli_w.dumps(told))
    return msgspec.structs.replace(who, source=str(path.resolve()), variant=None, variants={})


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in table.items() if value is not None}
    return {name: _without_none(value) if isinstance(value, dict) else value for name, value in kept.items()}
