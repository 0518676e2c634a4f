"""A campaign: subjects × schedules on one site, from a TOML file (docs/campaigns.md)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import tomli_w
from msgspec import Meta

from killtest import toml_file
from killtest.errors import UsageError
from killtest.plan.manifest import Positive, SiteNeeds, Subject, within
from killtest.plan.schedule import Name, Rule, Schedule, draw
from killtest.plan.subject import data_folder
from killtest.plan.suitability import check_faults

SCHEMA = 1


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign file. `site` overrides what each manifest asks for; `keep` says whose evidence stays on disk.

    `total_s` replaces how long a trial of each subject may last, in seconds.
    """

    name: Name
    subjects: Annotated[tuple[str, ...], Meta(min_length=1)]
    schedules: tuple[Rule, ...] = ()
    title: str = ""
    seed: str = "1"
    controls: Annotated[int, Meta(ge=0)] = 2
    again: Annotated[int, Meta(ge=0)] = 1
    keep: Literal["failed", "always"] = "failed"
    site: dict[str, Any] = {}
    schema: int = SCHEMA
    drawn: tuple[Schedule, ...] = ()
    total_s: Positive | None = None


class Planned(msgspec.Struct, frozen=True):
    """One trial to be run: a subject, a schedule, whether it is a control, and how many starts follow its end."""

    subject: Subject
    schedule: Schedule
    is_control: bool = False
    again: int = 0

    @property
    def id(self) -> str:
        """The trial's name in the ledger and its folder's name."""
        variant = f".{self.subject.variant}" if self.subject.variant else ""
        return f"{self.subject.name}{variant}--{self.schedule.name}"


def find(spec: str) -> Path:
    """The campaign file called `spec`: a path, or the name of one that comes with killtest."""
    shipped = data_folder("campaigns")
    for candidate in (Path(spec), shipped / f"{spec}.toml"):
        if candidate.is_file():
            return candidate
    known = ", ".join(sorted(path.stem for path in shipped.glob("*.toml")))
    raise UsageError(f"unknown campaign {spec!r}; there are: {known}, or give the path of a campaign file")


def load(path: Path) -> Spec:
    """The campaign in the file; UsageError names the file and what is wrong in it."""
    table = toml_file.load(path)
    if table.get("schema", SCHEMA) != SCHEMA:
        raise UsageError(f"{path}: campaign of schema {table['schema']!r}, this killtest reads {SCHEMA}")
    spec = toml_file.convert(table, Spec, str(path))
    names = [f"control-{i}" for i in range(1, spec.controls + 1)]
    names += [schedule.name for schedule in schedules_of(spec)]
    _refuse_repeats(names, f"{path}: two schedules are called")
    _refuse_repeats([rule.group for rule in spec.schedules], f"{path}: two [[schedules]] share the group")
    _refuse_repeats(spec.subjects, f"{path}: listed twice:")
    for rule in spec.schedules:
        strange = [name for name in rule.subjects if name not in spec.subjects]
        if strange:
            raise UsageError(f"{path}: group {rule.group}: {', '.join(strange)} not among the campaign's subjects")
    site_of(SiteNeeds(), spec.site, str(path))
    for schedule in schedules_of(spec):
        schedule.parsed()
    return spec


def text_of(spec: Spec, head: str) -> str:
    """The specification as a campaign file, below the comment `head`; for campaigns that no file describes."""
    table: dict[str, Any] = {"schema": spec.schema, "name": spec.name, "subjects": list(spec.subjects)}
    table |= {} if spec.total_s is None else {"total_s": spec.total_s}
    table |= {"controls": spec.controls, "again": spec.again, "keep": spec.keep, "seed": spec.seed}
    table["site"] = spec.site
    table["schedules"] = [_said(rule) for rule in spec.schedules]
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return comment + tomli_w.dumps(table)


def _said(rule: Rule) -> dict[str, Any]:
    """What a campaign file has to say of the rule: all that is not the default."""
    plain = msgspec.to_builtins(Rule(group=rule.group))
    said = {name: value for name, value in msgspec.to_builtins(rule).items() if value != plain[name]}
    return {"group": rule.group} | {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}


def _refuse_repeats(names: Sequence[str], complaint: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise UsageError(f"{complaint} {repeated[0]!r}; each needs a name of its own")


def schedules_of(spec: Spec) -> list[Schedule]:
    """Every schedule of the campaign, in the order in which they run."""
    return [schedule for rule in spec.schedules for schedule in draw(rule, spec.seed)]


def site_of(needs: SiteNeeds, changes: dict[str, Any], source: str) -> SiteNeeds:
    """The site of a trial: what the manifest needs, with `changes` on top."""
    return toml_file.convert(msgspec.to_builtins(needs) | changes, SiteNeeds, f"{source}: site")


def plan(spec: Spec, subjects: dict[str, Subject]) -> list[Planned]:
    """All trials: the controls of every subject first, then round by round, so that an early stop leaves pairs.

    UsageError for two trials of one name, and for a fault that its subject or the shop can't have.
    """
    subjects = {name: within(spec.total_s, who) for name, who in subjects.items()}
    trials = [control for name in spec.subjects for control in controls_of(spec, subjects[name])]
    for rule in spec.schedules:
        for schedule in draw(rule, spec.seed):
            wanted = [subjects[name] for name in spec.subjects if name in (rule.subjects or spec.subjects)]
            for subject in wanted:
                _check_length(rule, subject, spec.name)
                check_faults(schedule.faults, subject, site_of(subject.site, spec.site, spec.name), spec.name)
            trials += [Planned(subject, schedule, again=rule.again) for subject in wanted]
    _refuse_repeats([planned.id for planned in trials], f"{spec.name}: two trials would be called")
    return trials


def _check_length(rule: Rule, subject: Subject, source: str) -> None:
    """UsageError where a trial could outlast kills that are to go on until it ends."""
    if rule.mtbf_s is not None and subject.limits.total_s > rule.within_s:
        raise UsageError(
            f"{source}: group {rule.group}: kills are drawn for {rule.within_s:g} s, a trial of {subject.name} may "
            f"last {subject.limits.total_s:g} s; set within_s, or the campaign's total_s"
        )


def controls_of(spec: Spec, subject: Subject) -> list[Planned]:
    """The controls of one subject; the `again` starts follow the first of them."""
    return [
        Planned(subject, Schedule(f"control-{i}", group="control"), True, spec.again if i == 1 else 0)
        for i in range(1, spec.controls + 1)
    ]


def names_by_group(spec: Spec) -> dict[tuple[str, str], list[str]]:
    """The names of the schedules planned for each subject (with its variant) and group, without the controls."""
    return {
        (name, rule.group): [schedule.name for schedule in draw(rule, spec.seed)]
        for rule in spec.schedules
        for name in rule.subjects or spec.subjects
    }
