"""Kills at a constant rate, drawn: how long each incarnation lives."""

import random

from killtest.plan.fault import Trigger


def moments_s(mean_s: float, within_s: float, source: random.Random) -> list[float]:
    """Seconds from the start of each incarnation to its kill, exponentially distributed with that mean.

    So many that they last `within_s` seconds in all, each at least a millisecond: kills that come at a constant rate,
    whatever came before, as machines fail. A restart follows each at once, so there is one per `mean_s` of wall time.
    """
    drawn: list[float] = []
    while sum(drawn) < within_s:
        drawn.append(max(0.001, round(source.expovariate(1 / mean_s), 3)))
    return drawn


def triggers(mean_s: float, within_s: float, source: random.Random) -> list[Trigger]:
    """The moments as triggers, one for each incarnation in turn."""
    return [Trigger("after", offset_s=moment_s) for moment_s in moments_s(mean_s, within_s, source)]


def group_of(mean_s: float) -> str:
    """The name that a group of such schedules has, which tells a report its mean."""
    return f"mtbf-{mean_s:g}"
