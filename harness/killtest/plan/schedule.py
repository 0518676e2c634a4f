"""Schedules: the ordered faults of one trial, complete before the first process starts."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from killtest.errors import UsageError
from killtest.plan.fault import SIGNALS, Fault, Trigger
from killtest.plan.fault_text import parse
from killtest.plan.kill_rate import group_of, triggers

SCHEMA = 1
DrawnTrigger = Literal["after", "first", "request", "response"]


# What may become the name of a folder.
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$")]


class Schedule(msgspec.Struct, frozen=True):
    """The faults of one trial, in order, as text (`fault_text.parse` reads each).

    `group` names the schedules drawn from one rule, which a table puts in one row; `seed` is what the draw
    started from, empty for faults that were written by hand.
    """

    name: Name
    faults: tuple[str, ...] = ()
    group: str = ""
    seed: str = ""
    schema: int = SCHEMA

    def parsed(self) -> tuple[Fault, ...]:
        """The faults as data; UsageError names the first that can't be read."""
        return tuple(parse(text) for text in self.faults)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a campaign draws `trials` schedules of `kills` faults (the table `[[schedules]]`).

    `between` bounds the uniform draw: seconds for the clocks `after` and `first`, request numbers for
    `request` and `response` (both ends included). `signals` are taken in turn, or drawn with
    `order = "drawn"`. `actions` instead of them is whatever can stand behind a trigger in a fault, such as
    "reload:touch instance=1"; what ends nobody strikes one incarnation again and again, so that the moments drawn come
    in ascending order. `faults` instead of a draw gives every trial of the group the same written faults.
    `each` draws nothing: every number of `between` once, a schedule each, named after its number, of one fault behind
    whatever `faults` come first.
    `subjects` limits the group to some of the campaign's subjects. `again` is how many undisturbed starts follow each
    trial of it that has finished; its verdict is that of the trial before them.
    `mtbf_s` draws kills that are so many seconds apart on average, exponentially distributed, as many as last
    `within_s` seconds; the group is called after it, `mtbf-0.5`.
    """

    group: Name
    trials: int = 1
    kills: int = 1
    trigger: DrawnTrigger = "request"
    between: tuple[float, float] = (1, 25)
    signals: tuple[str, ...] = ("KILL",)
    actions: tuple[str, ...] = ()
    order: Literal["in_turn", "drawn"] = "in_turn"
    faults: tuple[str, ...] = ()
    each: bool = False
    subjects: tuple[str, ...] = ()
    again: Annotated[int, Meta(ge=0)] = 0
    mtbf_s: Annotated[float, Meta(ge=0.01, lt=1e5)] | None = None
    within_s: Annotated[float, Meta(gt=0, le=86400)] = 120.0

    def __post_init__(self) -> None:
        """Refuse what can't be drawn, before anything runs."""
        unknown = [name for name in self.signals if name not in SIGNALS]
        if unknown or not self.signals:
            raise ValueError(f"signals: {unknown or 'none given'}; known: {', '.join(SIGNALS)}")
        if self.trials < 1 or self.kills < 1:
            raise ValueError("trials and kills are at least 1")
        low, high = self.between
        if not 0 <= low <= high:
            raise ValueError(f"between: {low} to {high} is no range")
        is_counted = self.each or not self.faults
        if is_counted and self.trigger in ("request", "response") and (low < 1 or low % 1 or high % 1):
            raise ValueError(f"between: {low} to {high} are no request numbers")
        if self.each:
            self._check_each()
        if self.mtbf_s is not None and (self.faults or self.each or self.actions):
            raise ValueError("mtbf_s: draws the faults of a group by itself; leave out faults, each and actions")
        if self.mtbf_s is not None and self.group != group_of(self.mtbf_s):
            raise ValueError(f"mtbf_s: a report knows the mean by the name: group = {group_of(self.mtbf_s)!r}")

    def _check_each(self) -> None:
        if self.trigger not in ("request", "response"):
            raise ValueError(f"each: wants the trigger request or response, which can be counted, not {self.trigger}")
        if self.trials > 1 or self.kills > 1 or len(self.blows) > 1:
            raise ValueError("each: one fault a schedule, of one signal; leave out trials and kills")

    @property
    def blows(self) -> tuple[str, ...]:
        """What strikes: the text behind a trigger."""
        return self.actions or self.signals


def draw(rule: Rule, seed: str) -> list[Schedule]:
    """The schedules of one rule: the same rule and seed give the same schedules, byte for byte."""
    if rule.each:
        return [_only(rule, n) for n in range(int(rule.between[0]), int(rule.between[1]) + 1)]
    schedules = []
    for index in range(1, rule.trials + 1):
        own_seed = f"{seed}/{rule.group}/{index}"
        # A string seed is hashed with SHA-512 by `random`, independent of PYTHONHASHSEED.
        faults = rule.faults or tuple(f.text for f in _draw_faults(rule, random.Random(own_seed)))
        name = rule.group if rule.trials == 1 else f"{rule.group}-{index}"
        schedules.append(Schedule(name, faults, rule.group, "" if rule.faults else own_seed))
    return schedules


def _only(rule: Rule, n: int) -> Schedule:
    fault = parse(f"{Trigger(rule.trigger, n=n).text} {rule.blows[0]}")
    return Schedule(f"{rule.group}-{n}", (*rule.faults, fault.text), rule.group)


def _draw_faults(rule: Rule, source: random.Random) -> list[Fault]:
    drawn = []
    for index, trigger in enumerate(_draw_triggers(rule, source)):
        in_turn = rule.blows[index % len(rule.blows)]
        drawn.append((trigger, source.choice(rule.blows) if rule.order == "drawn" else in_turn))
    moments = [trigger for trigger, _ in drawn]
    if rule.actions:
        moments.sort(key=lambda trigger: (trigger.offset_s, trigger.n))
    return [parse(f"{trigger.text} {blow}") for trigger, (_, blow) in zip(moments, drawn, strict=True)]


def _draw_triggers(rule: Rule, source: random.Random) -> Iterator[Trigger]:
    """One after another: a drawn signal takes its draw from the same source, between two of them."""
    if rule.mtbf_s is not None:
        yield from triggers(rule.mtbf_s, rule.within_s, source)
        return
    for _ in range(rule.kills):
        yield _draw_trigger(rule, source)


def _draw_trigger(rule: Rule, source: random.Random) -> Trigger:
    low, high = rule.between
    if rule.trigger in ("after", "first"):
        # Milliseconds: what a reader can type again, and finer than any process start.
        return Trigger(rule.trigger, offset_s=round(source.uniform(low, high), 3))
    return Trigger(rule.trigger, n=source.randint(int(low), int(high)))


def to_json(schedule: Schedule) -> bytes:
    """The schedule as it is stored; sorted by field order, so equal schedules are equal bytes."""
    return msgspec.json.format(msgspec.json.encode(schedule), indent=1) + b"\n"


def from_json(data: bytes, source: str) -> Schedule:
    """The schedule stored in `data`; UsageError names `source` when it is of another schema or no schedule."""
    try:
        raw: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"{source}: not JSON ({error}); a schedule is what killtest wrote as schedule.json") from None
    found = raw.get("schema") if isinstance(raw, dict) else None
    if found != SCHEMA:
        raise UsageError(f"{source}: schedule of schema {found!r}, this killtest reads {SCHEMA}; draw it again")
    try:
        schedule = msgspec.convert(raw, Schedule)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {error}") from None
    schedule.parsed()
    return schedule


def read(path: Path) -> Schedule:
    """The schedule in the file `path`."""
    try:
        return from_json(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; --schedule wants a schedule.json") from None
