"""The points of a recording at which the power may fail, and what each model says is left: power_model.py."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from killtest.explore.crash_point import Arrivals, CrashPoint, States
from killtest.explore.disk import Tree
from killtest.judge.evidence import Request
from killtest.power.power_disk import PowerDisk
from killtest.power.power_model import left
from killtest.trace.step import Step


class PowerPoint(msgspec.Struct, frozen=True):
    """One state that one model allows at one moment; `detail` says which file or part of a write it is about.

    Where a step is a sync of the store folder itself, which is not counted, the point bears the next step's number.
    """

    model: str
    detail: str
    point: CrashPoint


def points(
    steps: Sequence[Step], requests: Iterable[Request], group: Callable[[Tree], bytes], begin: Tree
) -> tuple[list[PowerPoint], dict[bytes, Tree]]:
    """The points in order, and of each group of states the first tree; `steps` hold the syncs of the store folder."""
    disk, arrivals, states = PowerDisk(begin), Arrivals(requests), States(group)
    found: list[PowerPoint] = []
    k = 1
    for step in (*steps, None):
        arrived, last = arrivals.until(step)
        for one in left(disk, step):
            at = CrashPoint(k, step, arrived, last, *states.meet(one.tree, k))
            found.append(PowerPoint(one.model, one.detail, at))
        if step is not None:
            disk.take(step)
            k += bool(step.k)
    return found, states.trees
