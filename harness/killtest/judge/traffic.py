"""What the site was asked for: counts of requests, all of them costs, none of them a finding."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from killtest.judge.evidence import Request


class Traffic(msgspec.Struct, frozen=True):
    """Counts of one trial.

    `requests` are page requests (list, product, view), `other` the rest; `minimum` is what a perfect crawl
    needs and `baseline` what the control made (None without one); `repeated` are requests beyond the first for
    a URL; `per_row` is requests per distinct stored row (None without rows); `overlap` counts URLs fetched in
    more than one incarnation; `max_concurrent` is the most simultaneous fetches of one URL; `late` came from an
    older incarnation after a newer one had begun.
    """

    requests: int
    other: int
    minimum: int
    baseline: int | None
    repeated: int
    per_row: float | None
    overlap: int
    max_concurrent: int
    late: int


def pages(requests: Iterable[Request]) -> list[Request]:
    """The page requests among `requests`."""
    return [request for request in requests if request.kind == "page"]


def count(requests: Sequence[Request], minimum: int, baseline: int | None, distinct_rows: int) -> Traffic:
    """The traffic of one trial from its request log."""
    asked = pages(requests)
    by_url = Counter(request.path for request in asked)
    incarnations: dict[str, set[int]] = defaultdict(set)
    for request in asked:
        incarnations[request.path].add(request.incarnation)
    return Traffic(
        requests=len(asked),
        other=len(requests) - len(asked),
        minimum=minimum,
        baseline=baseline,
        repeated=len(asked) - len(by_url),
        per_row=round(len(asked) / distinct_rows, 4) if distinct_rows else None,
        overlap=sum(len(numbers) > 1 for numbers in incarnations.values()),
        max_concurrent=_max_concurrent(asked),
        late=sum(request.late for request in asked),
    )


def _max_concurrent(asked: Iterable[Request]) -> int:
    """The most fetches of one URL that were open at the same time."""
    steps: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for request in asked:
        if request.ended_s is not None:
            # An end sorts before a start at the same moment: those two did not overlap.
            steps[request.path] += [(request.arrived_s, 1), (request.ended_s, -1)]
    return max((_peak(sorted(moments)) for moments in steps.values()), default=0)


def _peak(moments: Iterable[tuple[float, int]]) -> int:
    now = most = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most
