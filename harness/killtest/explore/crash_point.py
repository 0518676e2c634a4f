"""The crash points of a recording: the moment before each durable step, and the one behind the last."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from killtest.errors import UsageError
from killtest.explore.disk import Tree, boundaries, digest
from killtest.judge.evidence import Request
from killtest.trace.step import Step

# Distinct contents are kept once each; beyond this a machine of the usual size begins to swap.
_MOST_BYTES = 1 << 30
Files = Mapping[str, int | None]
"""Paths on disk with their sizes in bytes; None for what is no file."""


class CrashPoint(msgspec.Struct, frozen=True):
    """One crash point: a kill right before the step `k` (behind the last step `step` is None).

    `requests` are the page requests that had arrived, `last_request` the path of the newest; `state` says which state
    is on disk then, and `group` which ones are the same for a restart. `files` are the paths on disk with their sizes
    in bytes (None: no file), at the first point of each state.
    """

    k: int
    step: Step | None
    requests: int
    last_request: str | None
    state: bytes
    group: bytes
    files: Files | None = None

    @property
    def trigger(self) -> str | None:
        """The trigger that kills there; None behind the last step, and at a sync of the store folder itself."""
        return self.step.trigger if self.step and self.step.k else None

    @property
    def phase(self) -> str:
        """Where in the crawl it lies."""
        if self.last_request is None:
            return "start-up"
        return "behind the last step" if self.step is None else f"after {pattern(self.last_request)}"

    @property
    def what(self) -> str:
        """The call that does not happen, and on which kind of file."""
        return "the end" if self.step is None else f"{self.step.call} {pattern(self.step.path) or 'the store folder'}"


def pattern(path: str) -> str:
    """A path with its numbers and digests left open, so that points survive small changes of the crawler."""
    return re.sub(r"\b[0-9a-f]{16,}\b|\d+", "N", path)


class States:
    """The distinct states that were met: of each group the first tree; `group` tells which are the same."""

    def __init__(self, group: Callable[[Tree], bytes]) -> None:
        """None yet."""
        self._group = group
        self.trees: dict[bytes, Tree] = {}
        self._groups: dict[bytes, bytes] = {}
        self._kept: dict[bytes, int] = {}

    def meet(self, tree: Tree, k: int) -> tuple[bytes, bytes, Files | None]:
        """Fingerprints of the tree and of its group, and what lies there the first time that the state is met.

        UsageError when the trees up to step `k` are too large to keep.
        """
        state, files = digest(tree), None
        if state not in self._groups:
            self._groups[state] = self._group(tree)
            files = {path: None if leaf.data is None else len(leaf.data) for path, leaf in sorted(tree.items())}
        group = self._groups[state]
        if group not in self.trees:
            self.trees[group] = tree
            self._kept |= {leaf.digest: len(leaf.data or b"") for leaf in tree.values()}
            if sum(self._kept.values()) > _MOST_BYTES:
                raise UsageError(f"the states up to step {k} hold more than 1 GiB: explore a smaller shop (--site)")
        return state, group, files


class Arrivals:
    """The page requests of a recording, in order."""

    def __init__(self, requests: Iterable[Request]) -> None:
        """Of these requests."""
        self._asked = sorted((r for r in requests if r.kind == "page"), key=lambda request: request.arrived_s)
        self._arrived = 0

    def until(self, step: Step | None) -> tuple[int, str | None]:
        """How many had arrived by that step, no earlier one than before (None: all), and the newest one's path."""
        asked = self._asked
        while self._arrived < len(asked) and (step is None or asked[self._arrived].arrived_s <= step.t_s):
            self._arrived += 1
        return self._arrived, asked[self._arrived - 1].path if self._arrived else None


def points(
    steps: Sequence[Step], requests: Iterable[Request], group: Callable[[Tree], bytes], begin: Tree
) -> tuple[list[CrashPoint], dict[bytes, Tree]]:
    """The crash points in order, and of each group of states the first tree; `group` tells which are the same."""
    arrivals, states = Arrivals(requests), States(group)
    found: list[CrashPoint] = []
    for k, tree in enumerate(boundaries(steps, begin), 1):
        step = steps[k - 1] if k <= len(steps) else None
        arrived, last = arrivals.until(step)
        found.append(CrashPoint(k, step, arrived, last, *states.meet(tree, k)))
    return found, states.trees
