"""An incarnation that is running now: what is known of it so far."""

from dataclasses import dataclass
from typing import Any

from killtest.judge.evidence import Ending, Incarnation
from killtest.plan.fault import Fault


@dataclass(slots=True)
class Life:
    """Mutable on purpose: the one place where a running incarnation's facts collect.

    `instance` says which of the subject's copies it is. Times are CLOCK_MONOTONIC seconds. `acting` is the fault whose
    action is under way; `step` and `next_step_s` say which of its signals follows and when (behind the last polite
    one: SIGKILL after the grace time). `struck` is the fault that is meant to end it: its main process got a signal
    other than STOP and CONT. `shrugs_off`: it ignores the last signal it got.
    """

    number: int
    started_s: float
    instance: int = 0
    is_again: bool = False
    first_request_s: float | None = None
    exit: int | None = None
    ended_s: float = 0.0
    limit: Ending | None = None
    is_armed: bool = False
    acting: Fault | None = None
    struck: Fault | None = None
    shrugs_off: bool = False
    step: int = 0
    next_step_s: float | None = None

    @property
    def was_ended_by_fault(self) -> bool:
        """True when a planned fault ended it; a signal that it ignores ends nothing."""
        return self.struck is not None and not self.shrugs_off

    @property
    def is_over(self) -> bool:
        """True when this copy is not started again: a fault ended it for good."""
        return self.was_ended_by_fault and self.struck is not None and self.struck.is_final

    def closed(self, origin_s: float) -> Incarnation:
        """The finished incarnation, with times from the start of the trial."""
        first_s = self.first_request_s
        facts: dict[str, Any] = {
            "ended_by": "limit" if self.limit else "fault" if self.was_ended_by_fault else "itself",
            "first_request_s": None if first_s is None else first_s - origin_s,
            "is_again": self.is_again,
            "instance": self.instance,
        }
        return Incarnation(self.number, self.started_s - origin_s, self.ended_s - origin_s, self.exit or 0, **facts)
