"""Rows made by code that had been replaced before their page was asked for: a cost, no finding. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from killtest.judge.course import Course, Revision
from killtest.judge.flaw import text_of
from killtest.judge.request_log import Request
from killtest.judge.truth import Product
from killtest.store.rows import Row

COLUMN = "revision"
# When a page was asked for, and by which instance.
_Asked = tuple[float, int]


class Lag(msgspec.Struct, frozen=True):
    """A row of revision `stored` whose page was asked for `lag_s` seconds after `newer` was in place."""

    stored: int
    newer: Revision
    lag_s: float

    @property
    def detail(self) -> str:
        """In words."""
        newer = f"revision {self.newer.revision} was in place"
        return f"revision {self.stored} stored, asked for {self.lag_s:.2f} s after {newer}"


def lags(
    rows: Iterable[Row],
    course: Course,
    products: Sequence[Product],
    numbers: Mapping[str, int],
    requests: Iterable[Request],
) -> dict[str, Lag]:
    """By key: the rows of old code, of several of one key the one that lags most.

    Nothing says which request a row came of. It is of old code only if newer code was in place at every request for
    its last page, at the instance that made it; its lag is the smallest of theirs.
    """
    if not course.revisions:
        return {}
    old = [(row.key, revision) for row, revision in _dated(rows) if row.key in numbers]
    pages = {key: products[numbers[key]].pages[-1] for key, _ in old if key is not None}
    asked = _asked(requests, course, set(pages.values()))
    found: dict[str, Lag] = {}
    for key, revision in old:
        lag = _lag(revision, asked[pages[key]], course.revisions) if key is not None else None
        if key is not None and lag is not None and (key not in found or lag.lag_s > found[key].lag_s):
            found[key] = lag
    return dict(sorted(found.items()))


def _dated(rows: Iterable[Row]) -> Iterable[tuple[Row, int]]:
    """The rows that say of which revision they are; no number of a thousand digits is one."""
    for row in rows:
        text = text_of(row.values.get(COLUMN))
        if text.isascii() and text.isdigit() and len(text) < 20:
            yield row, int(text)


def _asked(requests: Iterable[Request], course: Course, wanted: set[str]) -> Mapping[str, list[_Asked]]:
    instances = {one.number: one.instance for one in course.incarnations}
    asked: dict[str, list[_Asked]] = defaultdict(list)
    for request in requests if wanted else ():
        if request.is_page and request.path in wanted:
            asked[request.path].append((request.arrived_s, instances.get(request.incarnation, 0)))
    return asked


def _lag(stored: int, asked: Iterable[_Asked], revisions: Sequence[Revision]) -> Lag | None:
    """None when one of the requests may have been made by that revision, or there was none."""
    found: Lag | None = None
    for arrived_s, instance in asked:
        newer = next((one for one in revisions if one.instance == instance and one.revision > stored), None)
        if newer is None or newer.t_s > arrived_s:
            return None
        if found is None or arrived_s - newer.t_s < found.lag_s:
            found = Lag(stored, newer, arrived_s - newer.t_s)
    return found
