"""The budget: how much of what a gate lets pass, per subject (docs/gate.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from killtest import toml_file

Count = Annotated[int, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=1)]


class Struck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"start_up": "start-up"}):
    """The least number of kills of a subject that must have struck in each window.

    `danger` counts those in any danger window: waiting, between answer and commit, inside a commit.
    """

    start_up: Count = 0
    danger: Count = 1
    waiting: Count = 0
    between: Count = 0
    commit: Count = 0
    idle: Count = 0


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is allowed to one subject over all its trials.

    Counts of keys, effects, processes and trials are sums; `requests_over` is k in "page requests of a trial at
    most minimum + kills struck + k". `unknown` counts trials that are UNKNOWN, `struck` the least kills per window.
    The ratios hold against a baseline, with a one-sided sign test at level `significance`; None never gates.
    """

    lost: Count = 0
    missed: Count = 0
    duplicated: Count = 0
    corrupted: Count = 0
    stale: Count = 0
    unexpected: Count = 0
    vanished: Count = 0
    unexplained: Count = 0
    effects: Count = 0
    orphans: Count = 0
    zombies: Count = 0
    ports: Count = 0
    unfinished: Count = 0
    requests_over: Count | None = 0
    unknown: Count = 0
    struck: Struck = Struck()
    requests_ratio: Ratio | None = 1.0
    findings_ratio: Ratio | None = 1.0
    seconds_ratio: Ratio | None = None
    significance: Annotated[float, Meta(gt=0, lt=1)] = 0.01


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: dict[str, Any] = {}
    subjects: dict[str, dict[str, Any]] = {}


class Budgets(msgspec.Struct, frozen=True):
    """The budget of every subject: its own where there is one, else the default."""

    default: Budget = Budget()
    subjects: dict[str, Budget] = {}

    def of(self, label: str) -> Budget:
        """The budget of the subject called `label`; NAME also stands for all its variants."""
        name = label.partition(":")[0]
        return self.subjects.get(label) or self.subjects.get(name) or self.default


def load(path: Path) -> Budgets:
    """The budgets in the file; UsageError names the file and what is wrong in it."""
    raw = toml_file.convert(toml_file.load(path), _File, str(path))
    own = {name: _budget(raw.default, table, f"{path}: subjects.{name}") for name, table in raw.subjects.items()}
    return Budgets(_budget(raw.default, {}, f"{path}: default"), own)


def _budget(default: Mapping[str, Any], own: Mapping[str, Any], source: str) -> Budget:
    table = {**default, **own}
    if isinstance(default.get("struck"), dict) and isinstance(own.get("struck"), dict):
        table["struck"] = default["struck"] | own["struck"]
    # TOML knows no null: false switches a limit off.
    switched = {name: None if value is False else value for name, value in table.items()}
    return toml_file.convert(switched, Budget, source)
