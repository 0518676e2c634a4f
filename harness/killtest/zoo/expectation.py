"""What a program of the zoo must come out as (the tables [bug] and [sound] of expected.toml), and what it did."""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from killtest.campaigns.trial_line import Line, effect_findings
from killtest.judge.effects import NAMES as EFFECTS
from killtest.judge.evidence import Ending, Status

Keys = tuple[str, ...]
_RANGE = re.compile(r"(?P<stem>.*?)(?P<first>\d+)\.\.(?P=stem)(?P<last>\d+)")
KEY_LISTS = ("lost", "missed", "corrupted", "stale", "unexpected", "vanished", "set_back")
_TRAFFIC = ("requests", "repeated", "overlap", "max_concurrent", "late")


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A verdict in every respect that counts.

    Lists hold keys, or places where no key can be read; "SKU-00005..SKU-00020" stands for a range of them. `effects`
    has such a list for each finding about effects, by names such as "files.missing".
    `not_idempotent`, `control` and nothing else are about the control. What is None was not said and is not compared;
    all else is, at its default as well. `cause` without a word is `faults` for a FAIL.
    """

    outcome: Literal["PASS", "FAIL"]
    cause: Literal["faults", "control"] | None = None
    ending: Ending = "finished"
    lost: Keys = ()
    missed: Keys = ()
    duplicated: dict[str, int] = {}
    corrupted: Keys = ()
    stale: Keys = ()
    unexpected: Keys = ()
    vanished: Keys = ()
    set_back: Keys = ()
    effects: dict[str, Keys] = {}
    false_done: bool = False
    not_idempotent: bool = False
    orphans: int = 0
    zombies: int = 0
    ports: int = 0
    self_deaths: int = 0
    control: Literal["PASS", "FAIL"] = "PASS"
    statuses: tuple[Status, ...] | None = None
    requests: int | None = None
    repeated: int | None = None
    overlap: int | None = None
    max_concurrent: int | None = None
    late: int | None = None
    ending_detail: str | None = None
    windows: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a range that is none, so that it can't pass for a key."""
        unknown = [name for name in self.effects if name not in EFFECTS]
        if unknown:
            raise ValueError(f"effects: {unknown[0]!r} is no finding; those are: {', '.join(EFFECTS)}")
        listed = [*(getattr(self, name) for name in KEY_LISTS), *self.effects.values(), self.duplicated]
        for key in (key for keys in listed for key in keys):
            if ".." in key:
                unfolded(key)


def completed(said: Expectation, faults: int) -> dict[str, Any]:
    """The expectation by field, ranges unfolded and defaults filled in for a schedule of so many faults."""
    found = msgspec.structs.asdict(said)
    for name in KEY_LISTS:
        found[name] = in_order(key for each in found[name] for key in unfolded(each))
    found["duplicated"] = {key: extra for each, extra in said.duplicated.items() for key in unfolded(each)}
    found["effects"] = {
        name: in_order(key for each in said.effects[name] for key in unfolded(each))
        for name in EFFECTS
        if said.effects.get(name)
    }
    found["cause"] = said.cause or ("faults" if said.outcome == "FAIL" else None)
    found["statuses"] = list(said.statuses) if said.statuses is not None else ["struck"] * faults
    found["windows"] = list(said.windows) if said.windows is not None else None
    return {name: value for name, value in found.items() if value is not None or name == "cause"}


def observed(trial: Line, control: Line) -> dict[str, Any]:
    """The same fields of what came out; a trial that killtest itself failed has no more than its outcome."""
    found: dict[str, Any] = {name: trial[name] for name in ("outcome", "cause")}
    found["control"] = control["outcome"]
    if trial["data"] is None:
        return found
    for name in KEY_LISTS:
        found[name] = _keys(trial["data"], name)
    found["duplicated"] = dict(trial["data"]["duplicated"]["keys"])
    found["effects"] = {name: _shown(kept) for name, kept in effect_findings(trial).items()}
    found["false_done"] = trial["data"]["false_done"]
    found["not_idempotent"] = bool(control["data"] and control["data"]["not_idempotent"])
    found |= {name: trial["processes"][name] for name in ("orphans", "zombies")}
    found["ports"] = _count(trial["processes"].get("ports", 0))
    found |= {name: trial[name] for name in ("ending", "self_deaths")}
    found["ending_detail"] = trial.get("ending_detail")
    found |= {name: trial["traffic"][name] for name in _TRAFFIC}
    found["statuses"] = [fault["status"] for fault in trial["faults"]]
    found["windows"] = [fault["window"] for fault in trial["faults"]]
    return found


def _keys(data: Line, name: str) -> list[str]:
    """The keys of a finding; where the ledger was cut, a last word says how many are not shown."""
    return _shown(data.get(name, {"count": 0, "keys": {}}))


def _shown(kept: Line) -> list[str]:
    cut = kept["count"] - len(kept["keys"])
    return in_order(kept["keys"]) + ([f"and {cut} more"] if cut else [])


def _count(found: Any) -> int:
    return found if isinstance(found, int) else len(found)


def unfolded(key: str) -> list[str]:
    """The keys that a word of expected.toml stands for; ValueError for a range that is none."""
    if ".." not in key:
        return [key]
    ends = _RANGE.fullmatch(key)
    if ends is None or int(ends["first"]) >= int(ends["last"]) or len(ends["first"]) != len(ends["last"]):
        raise ValueError(f"{key!r} is no range; one looks like SKU-00005..SKU-00020")
    numbers = range(int(ends["first"]), int(ends["last"]) + 1)
    return [f"{ends['stem']}{number:0{len(ends['first'])}}" for number in numbers]


def in_order(keys: Iterable[str]) -> list[str]:
    """The keys sorted as people would: line 9 before line 10."""
    return sorted(keys, key=lambda key: re.sub(r"\d+", lambda number: number[0].zfill(12), key))


def folded(keys: Iterable[str]) -> str:
    """Keys in order, for people: neighbours as a range."""
    runs: list[list[str]] = []
    for key in keys:
        if runs and _is_next(runs[-1][-1], key):
            runs[-1].append(key)
        else:
            runs.append([key])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs)


def _is_next(key: str, other: str) -> bool:
    ends = _RANGE.fullmatch(f"{key}..{other}")
    return ends is not None and int(ends["last"]) == int(ends["first"]) + 1
