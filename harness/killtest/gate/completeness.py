"""What a campaign had planned and has not run: it must not be missing from a gate's answer."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from killtest.plan.campaign import Spec, schedules_of

Line = dict[str, Any]


def missing(spec: Spec, lines: Sequence[Line]) -> list[str]:
    """The schedules that fewer subjects have finished than were to, each with the number of trials that lack."""
    wanted = Counter({f"control-{i}": len(spec.subjects) for i in range(1, spec.controls + 1)})
    limited = {rule.group: len(rule.subjects) for rule in spec.schedules if rule.subjects}
    for schedule in schedules_of(spec):
        wanted[schedule.name] = limited.get(schedule.group, len(spec.subjects))
    there = Counter(line["schedule"]["name"] for line in lines)
    return [f"{name} ({count - there[name]}×)" for name, count in wanted.items() if there[name] < count]
