"""What became of the planned faults of a trial: the counts behind kill coverage.

A kill is a planned fault that signals the subject to death (KILL, INT, TERM, HUP, QUIT, alone or in a
sequence, and oom). Everything else (pauses, bumps, service kills, site misbehaviour, failing calls) is counted as
another fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FATAL_SIGNALS = frozenset({"KILL", "INT", "TERM", "HUP", "QUIT"})
STRUCK = frozenset({"struck", "before_first_request", "escalated"})
WINDOWS = ("start-up", "waiting", "between", "commit", "idle")


@dataclass(frozen=True)
class KillCounts:
    """Numbers of faults of one trial.

    `planned` = `struck` + `not_reached`, also when the trial ended before its later faults were written down;
    `struck` = `start_up` + `danger` + `idle` + `window_unknown`. A kill that was `escalated` also struck.
    """

    planned: int
    struck: int
    not_reached: int
    escalated: int
    after_first_request: int
    in_flight: int
    start_up: int
    waiting: int
    between: int
    commit: int
    idle: int
    window_unknown: int
    others_planned: int
    others_struck: int

    @property
    def danger(self) -> int:
        """Kills that hit a danger window: something asked for and not yet safely stored was at stake."""
        return self.waiting + self.between + self.commit


def is_kill(planned: str) -> bool:
    """Whether a planned fault, as text (`request:25 KILL scope=pid`), signals the subject to death."""
    _, _, actions = planned.partition(" ")
    return any(_is_fatal(action) for action in actions.split(","))


def _is_fatal(action: str) -> bool:
    """Whether one action, such as `INT+INT@0.2` or `service:valkey:KILL`, signals the subject to death."""
    words = action.split()
    steps = words[0].split("+") if words else []
    return steps == ["oom"] or any(step.partition("@")[0] in FATAL_SIGNALS for step in steps)


def count_kills(line: Mapping[str, Any]) -> KillCounts:
    """The counts of one ledger line; a line without faults, such as a control's, gives zeros."""
    faults: list[Mapping[str, Any]] = list(line.get("faults") or [])
    written: list[str] = list((line.get("schedule") or {}).get("faults") or [])
    struck = [fault for fault in faults if fault.get("status") in STRUCK]
    kills = [fault for fault in struck if is_kill(str(fault.get("planned")))]
    # The schedule is complete before anything starts, so it is what was planned; the faults of the line
    # stop early when the harness itself failed.
    planned_texts = written or [str(fault.get("planned")) for fault in faults]
    planned = sum(map(is_kill, planned_texts))
    windows = [fault.get("window") for fault in kills]
    return KillCounts(
        planned=planned,
        struck=len(kills),
        not_reached=planned - len(kills),
        escalated=sum(fault.get("status") == "escalated" for fault in kills),
        after_first_request=sum(fault.get("since_first_request_s") is not None for fault in kills),
        in_flight=sum(bool(fault.get("in_flight")) for fault in kills),
        start_up=windows.count("start-up"),
        waiting=windows.count("waiting"),
        between=windows.count("between"),
        commit=windows.count("commit"),
        idle=windows.count("idle"),
        window_unknown=sum(window not in WINDOWS for window in windows),
        others_planned=len(planned_texts) - planned,
        others_struck=len(struck) - len(kills),
    )
