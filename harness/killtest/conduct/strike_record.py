"""What is put on record of a fault at its moment."""

from typing import Any

import msgspec

from killtest.conduct.life import Life
from killtest.conduct.site import OpenRequest
from killtest.judge.evidence import FaultRecord
from killtest.plan.fault import Fault
from killtest.process.launcher import Strike


def of(fault: Fault, life: Life, strike: Strike, due_s: float, in_flight: tuple[OpenRequest, ...]) -> FaultRecord:
    """What is known at once; `coverage.located` says the rest from the site's log."""
    first_s = life.first_request_s
    return FaultRecord(
        planned=fault.text,
        status="before_first_request" if first_s is None else "struck",
        incarnation=life.number,
        due_s=due_s - life.started_s,
        struck_s=strike.t_s - life.started_s,
        t_s=strike.t_s,
        since_first_request_s=None if first_s is None else strike.t_s - first_s,
        scope=fault.scope if fault.steps and not fault.on else None,
        in_flight=tuple(request.path for request in in_flight),
        window="start-up" if first_s is None else "waiting" if in_flight else "idle",
        caught=strike.caught,
        ignored=strike.ignored,
    )


def met(record: FaultRecord, event: dict[str, Any], life: Life | None, in_flight: tuple[str, ...] = ()) -> FaultRecord:
    """The record of what lasts longer than a moment, once the first request or call of `life` has met it."""
    since_start_s = 0.0 if life is None else event["t_s"] - life.started_s
    first_s = None if life is None else life.first_request_s
    return msgspec.structs.replace(
        record,
        status="struck",
        incarnation=event["incarnation"],
        due_s=since_start_s,
        struck_s=since_start_s,
        t_s=event["t_s"],
        since_first_request_s=None if first_s is None else event["t_s"] - first_s,
        in_flight=in_flight,
        window="waiting" if in_flight else "idle",
    )


def why_missed(fault: Fault, strike: Strike) -> str:
    """In words, why nobody was there to take the signal."""
    if fault.steps[0].signal == "CONT":
        return "nobody is stopped"
    return (
        "it had already ended" if strike.is_over else "its owner can't be found: its connection is closed, or it ended"
    )
