"""Whether a subject and its shop can have the faults of a schedule: asked before anything starts."""

from collections.abc import Sequence
from pathlib import Path

from killtest.errors import UsageError
from killtest.plan.fault import Fault
from killtest.plan.fault_text import parse
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.reload import code_copy, edit


def check_faults(faults: Sequence[str], who: Subject, site: SiteNeeds, source: str) -> None:
    """UsageError for a fault that they can't have, which might come out late in a campaign, or never."""
    for text in faults:
        fault = parse(text)
        why = _missing_product(fault, site) or _missing_page(fault, site) or _missing_part(fault, who)
        if why:
            raise UsageError(f'{source}: fault "{text}": {why}')
    final = {fault.instance for fault in map(parse, faults) if fault.is_final}
    if len(final) == who.instances:
        left = "it runs alone" if who.instances == 1 else f"it runs as {who.instances} copies"
        raise UsageError(f"{source}: restart=never would leave nobody of {who.name} to finish the crawl: {left}")


def _missing_product(fault: Fault, site: SiteNeeds) -> str | None:
    wrong = [path for path in fault.bumps if not site.shows_product(path)]
    if not wrong:
        return None
    there = ", ".join(f"/{kind}/1 to /{kind}/{site.products}" for kind in site.bumped)
    return f"{wrong[0]} shows no product of this shop; it has {there}"


def _missing_page(fault: Fault, site: SiteNeeds) -> str | None:
    misdeed, trigger = fault.misdeed, fault.trigger
    inside = trigger.path if trigger.kind == "partial" else None
    if inside is not None and inside not in site.paths():
        return f"{inside} is no page of this shop; it has {site.paths_in_words}"
    if misdeed is None:
        return None
    if not any(map(misdeed.matches, site.paths())):
        return f"{misdeed.path} is no page of this shop; it has {site.paths_in_words}"
    if misdeed.to is not None and misdeed.to not in site.paths():
        return f"it leads to {misdeed.to}, which is no page of this shop; it has {site.paths_in_words}"
    return None


def _missing_part(fault: Fault, who: Subject) -> str | None:
    """What the fault acts on and the subject's manifest does not have."""
    if fault.service and fault.service not in who.services:
        return f'{who.name} has no service {fault.service} (services = ["{fault.service}"] in its manifest)'
    if fault.trigger.kind == "syscall" and who.instances > 1:
        return f"the calls of several instances side by side can't be counted ({who.name} has {who.instances})"
    if fault.bumps and who.store.groups > 1:
        # Whose answer it was can't be told from a request, nor, then, which version a group was given.
        return f"a changed page can't be judged where the rows of {who.name} are there for each of several groups"
    if fault.on == "reload" and not who.reload:
        return f"{who.name} declares no reload files (reload = [...] in its manifest)"
    if any(step.signal == "change" for step in fault.steps) and not _has_revision(who):
        files = ", ".join(who.reload)
        return f"reload:change counts up a line REVISION = N, and no reload file of {who.name} has one ({files})"
    if fault.instance >= who.instances:
        last = who.instances - 1
        return f"{who.name} runs as instance 0" + (f" to {last}" if last else " alone") + " (instances in its manifest)"
    return None


def _has_revision(who: Subject) -> bool:
    files = code_copy.matching(Path(who.folder), who.reload)
    return any(edit.revision_of(path.read_bytes()) is not None for path in files)
