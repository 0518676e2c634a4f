"""The error points of a recording: each durable step that can fail, with ENOSPC and EIO, once or from then on."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from killtest.explore.crash_point import pattern
from killtest.explore.disk import Tree, boundaries
from killtest.judge.evidence import Request
from killtest.plan import hardship
from killtest.plan.hardship import ERRNOS, Hardship
from killtest.trace.step import Step

# Of the steps that are alike so many are tried where not every one is asked for: the first, the last, one between.
_OF_A_KIND = 3


class ErrorPoint(msgspec.Struct, frozen=True):
    """The call `step` fails with `hardship`; `last_request` is the page asked for last before it."""

    step: Step
    hardship: Hardship
    last_request: str | None

    @property
    def fault(self) -> str:
        """The fault that does it."""
        return f"{self.step.trigger} {self.hardship.text}"

    @property
    def row(self) -> tuple[str, str]:
        """Its errno, and how long it lasts."""
        return self.hardship.kind.upper(), "once" if self.hardship.times else "from then on"

    @property
    def what(self) -> str:
        """The call that fails, on which kind of file, and where in the crawl."""
        phase = "start-up" if self.last_request is None else f"after {pattern(self.last_request)}"
        return f"{self.step.call} {pattern(self.step.path)}, {phase}"


def points(steps: Sequence[Step], requests: Iterable[Request], begin: Tree) -> list[ErrorPoint]:
    """Every error point in the order of the steps."""
    pages = sorted((r for r in requests if r.kind == "page"), key=lambda request: request.arrived_s)
    found: list[ErrorPoint] = []
    arrived = 0
    for step, tree in zip(steps, boundaries(steps, begin), strict=False):
        while arrived < len(pages) and pages[arrived].arrived_s <= step.t_s:
            arrived += 1
        last = pages[arrived - 1].path if arrived else None
        found += [ErrorPoint(step, one, last) for one in _possible(step, tree)]
    return found


def _possible(step: Step, tree: Tree) -> Iterator[Hardship]:
    """What can happen to the step, on that tree: as `trace/failing.py` decides it in the run."""
    for kind in ERRNOS:
        if hardship.applies(kind, step.effect) and (kind != "enospc" or _wants_space(step, tree)):
            yield Hardship(kind, times=1)
            yield Hardship(kind)


def _wants_space(step: Step, tree: Tree) -> bool:
    if step.effect == "create":
        return step.path not in tree
    if step.effect == "truncate":
        there = tree.get(step.path)
        return there is not None and (step.size or 0) > len(there.data or b"")
    return True


def chosen(found: Sequence[ErrorPoint]) -> list[ErrorPoint]:
    """Of the points with the same call, kind of file, phase and error the first, the last and the one in the middle."""
    kinds: dict[tuple[str, tuple[str, str]], list[int]] = {}
    for place, point in enumerate(found):
        kinds.setdefault((point.what, point.row), []).append(place)
    places = {places[index * (len(places) - 1) // (_OF_A_KIND - 1)] for places in kinds.values() for index in range(3)}
    return [found[place] for place in sorted(places)]
