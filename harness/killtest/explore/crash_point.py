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
    files: Mapping[str, int | None] | None = None

    @property
    def trigger(self) -> str | None:
        """The trigger that kills there; None behind the last step."""
        return self.step.trigger if self.step else None

    @property
    def phase(self) -> str:
        """Where in the crawl it lies."""
        if self.last_request is None:
            return "start-up"
        return "behind the last step" if self.step is None else f"after {pattern(self.last_request)}"

    @property
    def what(self) -> str:
        """The call that does not happen, and on which kind of file."""
        return "the end" if self.step is None else f"{self.step.call} {pattern(self.step.path)}"


def pattern(path: str) -> str:
    """A path with its numbers and digests left open, so that points survive small changes of the crawler."""
    return re.sub(r"\b[0-9a-f]{16,}\b|\d+", "N", path)


def points(
    steps: Sequence[Step], requests: Iterable[Request], group: Callable[[Tree], bytes], begin: Tree
) -> tuple[list[CrashPoint], dict[bytes, Tree]]:
    """The crash points in order, and of each group of states the first tree; `group` tells which are the same."""
    asked = sorted((r for r in requests if r.kind == "page"), key=lambda request: request.arrived_s)
    found: list[CrashPoint] = []
    trees: dict[bytes, Tree] = {}
    groups: dict[bytes, bytes] = {}
    kept: dict[bytes, int] = {}
    arrived = 0
    for k, tree in enumerate(boundaries(steps, begin), 1):
        step = steps[k - 1] if k <= len(steps) else None
        while arrived < len(asked) and (step is None or asked[arrived].arrived_s <= step.t_s):
            arrived += 1
        state, files = digest(tree), None
        if state not in groups:
            groups[state] = group(tree)
            files = {path: None if leaf.data is None else len(leaf.data) for path, leaf in sorted(tree.items())}
        if groups[state] not in trees:
            trees[groups[state]] = tree
            kept |= {leaf.digest: len(leaf.data or b"") for leaf in tree.values()}
            if sum(kept.values()) > _MOST_BYTES:
                raise UsageError(f"the states up to step {k} hold more than 1 GiB: explore a smaller shop (--site)")
        last = asked[arrived - 1].path if arrived else None
        found.append(CrashPoint(k, step, arrived, last, state, groups[state], files))
    return found, trees
