"""What the site was asked for: counts of requests, all of them costs, none of them a finding."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from math import inf

import msgspec

from killtest.judge.lapses import Lapses, Watch
from killtest.judge.request_log import Request


class Traffic(msgspec.Struct, frozen=True):
    """Counts of one trial.

    `requests` are page requests (list, product, view), `other` the rest; `minimum` is what a perfect crawl
    needs and `baseline` what the control made (None without one); `repeated` are requests beyond the first for
    a URL (beyond one for each group, where the shop is crawled for several); `per_row` is requests per distinct
    stored row (None without rows); `overlap` counts URLs fetched in more than one incarnation; `max_concurrent` is
    the most simultaneous fetches of one URL; `late` came from an older incarnation after a newer one had begun.
    `lapsed` are the URLs that were fetched by two at a time, or again in one incarnation (judge/lapses.py).
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
    lapsed: Lapses = Lapses()


def pages(requests: Iterable[Request]) -> Iterator[Request]:
    """The page requests among `requests`."""
    return (request for request in requests if request.is_page)


def count(
    requests: Iterable[Request],
    minimum: int,
    baseline: int | None,
    distinct_rows: int,
    groups: int = 1,
    watch: Watch | None = None,
) -> Traffic:
    """The traffic of one trial from its request log, which is gone through more than once.

    With `groups` each URL is wanted so many times; only requests beyond that are `repeated`, and nothing is known to
    have lapsed. `watch` is shown the requests for pages that were asked for more than once.
    """
    watch = Watch() if watch is None or groups > 1 else watch
    by_url, other, late = dict[str, int](), 0, 0
    for request in requests:
        if request.is_page:
            by_url[request.path] = by_url.get(request.path, 0) + 1
            late += request.late
        else:
            other += 1
    asked = sum(by_url.values())
    again = {path for path, times in by_url.items() if times > 1}
    overlap, most = _meetings(requests, again, watch) if again else (0, min(asked, 1))
    return Traffic(
        requests=asked,
        other=other,
        minimum=minimum,
        baseline=baseline,
        repeated=sum(max(0, times - groups) for times in by_url.values()),
        per_row=round(asked / distinct_rows, 4) if distinct_rows else None,
        overlap=overlap,
        max_concurrent=most,
        late=late,
        lapsed=watch.found() if groups == 1 else Lapses(),
    )


def _meetings(requests: Iterable[Request], urls: Container[str], watch: Watch) -> tuple[int, int]:
    """How many of `urls` more than one incarnation fetched, and the most fetches of one that were open at a time."""
    incarnations: dict[str, set[int]] = defaultdict(set)
    steps: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for request in pages(requests):
        if request.path in urls:
            watch.see(request)
            incarnations[request.path].add(request.incarnation)
            # An end sorts before a start at the same moment: those two did not overlap. What is open has no end yet.
            ended_s = inf if request.ended_s is None else request.ended_s
            steps[request.path] += [(request.arrived_s, 1), (ended_s, -1)]
    overlap = sum(len(numbers) > 1 for numbers in incarnations.values())
    return overlap, max(_peak(sorted(moments)) for moments in steps.values())


def _peak(moments: Iterable[tuple[float, int]]) -> int:
    now, most = 0, 1
    for _, change in moments:
        now += change
        most = max(most, now)
    return most
