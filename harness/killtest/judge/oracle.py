"""The oracle: pure functions from what a trial left to findings about its data (docs/verdict.md)."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from killtest.judge import old_code
from killtest.judge.answers import best_fates, fate_of, newest_versions, version_served
from killtest.judge.course import Course, Incarnation
from killtest.judge.evidence import Evidence
from killtest.judge.flaw import Flaw, flaw_of, text_of
from killtest.judge.holdings import Holdings, Inspect, held, movements, take_stock
from killtest.judge.request_log import Proper, Request
from killtest.judge.truth import Product, numbers_of
from killtest.store.effects import lasting
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot


class Data(msgspec.Struct, frozen=True):
    """Findings about the rows. Every mapping goes from a key (or a place, when no key can be read) to a detail.

    `lost`: never stored although a request for a page carrying it arrived, with how the best of those
    requests fared (answered, broken, held); `missed`: never requested; `duplicated`: how many rows too many;
    `corrupted`: what is wrong with it; `stale`: which version was stored and which had been served in full;
    `unexpected`: keys that no page carries, and their number; `vanished`: after which incarnation it was stored
    although it is absent at the end; `set_back`: stored, then absent, then back (a cost, no finding); `old_code`:
    rows made by code that had been replaced before their page was asked for, and `old_code_s` the longest time between
    the two in seconds (a cost as well; None without such rows). Of a store that can't be read at the end nothing is
    known: `rows` is None, and there are no findings but the ending.
    """

    rows: int | None
    distinct: int
    products: int
    lost: dict[str, str]
    missed: dict[str, str]
    duplicated: dict[str, int]
    corrupted: dict[str, str]
    stale: dict[str, str]
    unexpected: dict[str, int]
    vanished: dict[str, str]
    set_back: dict[str, str]
    columns_not_judged: tuple[str, ...]
    rows_after: tuple[int | None, ...]
    old_code: dict[str, str] = {}
    old_code_s: float | None = None

    @property
    def has_finding(self) -> bool:
        """True when anything but a cost was found."""
        found = (self.lost, self.missed, self.duplicated, self.corrupted, self.stale, self.unexpected, self.vanished)
        return any(found)


def proper_incarnations(incarnations: Iterable[Incarnation]) -> list[Incarnation]:
    """The incarnations of the trial itself, without the `again` starts behind it."""
    return [one for one in incarnations if not one.is_again]


def proper_requests(evidence: Evidence) -> Proper:
    """The requests of the trial itself."""
    return Proper(evidence.requests, len(proper_incarnations(evidence.course.incarnations)))


def judge_data(evidence: Evidence) -> Data:
    """What is wrong with the rows at the end of the trial proper (`again` starts are judged apart)."""
    course, products = evidence.course, evidence.truth.rows
    snapshots = course.snapshots[: len(proper_incarnations(course.incarnations))]
    rows_after = tuple(None if one.error else len(one.rows) for one in course.snapshots)
    if snapshots[-1].error is not None:
        return Data(None, 0, len(products), {}, {}, {}, {}, {}, {}, {}, {}, (), rows_after)
    numbers, requests = numbers_of(products), proper_requests(evidence)
    found = take_stock(snapshots[-1], numbers, _inspector(products, requests))
    lost, missed = absent_products(products, found, requests)
    gone, back = moved_keys(snapshots, numbers)
    old = old_code.lags(snapshots[-1].rows, course, products, numbers, requests)
    return Data(
        rows=len(snapshots[-1].rows),
        distinct=len(products) - len(lost) - len(missed),
        products=len(products),
        lost=lost,
        missed=missed,
        duplicated={key: found.counts[number] - 1 for key, number in numbers.items() if found.counts[number] > 1},
        corrupted=found.wrong_places | _details(found.flaws, is_stale=False),
        stale=_details(found.flaws, is_stale=True),
        unexpected=dict(sorted(found.strangers.items())),
        vanished=gone,
        set_back=back,
        columns_not_judged=found.columns_not_judged,
        rows_after=rows_after,
        old_code={key: lag.detail for key, lag in old.items()},
        old_code_s=max((round(lag.lag_s, 3) for lag in old.values()), default=None),
    )


def _inspector(products: Sequence[Product], requests: Iterable[Request]) -> Inspect:
    newest = newest_versions(requests)

    def inspect(row: Row, number: int) -> Flaw | None:
        product = products[number]
        served = version_served(product, newest) if newest else 0
        return flaw_of(row.values, product, served)

    return inspect


def _details(flaws: Mapping[str, Flaw], is_stale: bool) -> dict[str, str]:
    return {key: flaw.detail for key, flaw in sorted(flaws.items()) if flaw.is_stale is is_stale}


def absent_products(
    products: Sequence[Product], found: Holdings, requests: Iterable[Request]
) -> tuple[dict[str, str], dict[str, str]]:
    """The products without a row: those asked for, with how that fared, and those never requested."""
    absent = [products[number] for number, count in enumerate(found.counts) if not count]
    if not absent:
        return {}, {}
    best = best_fates(requests, {page for product in absent for page in product.pages})
    fates = {product.key: fate_of(product, best) for product in absent}
    lost = {key: fate for key, fate in fates.items() if fate is not None}
    return lost, {key: "never requested" for key in fates if key not in lost}


def moved_keys(snapshots: Sequence[Snapshot], numbers: Mapping[str, int]) -> tuple[dict[str, str], dict[str, str]]:
    """The keys that vanished and those that were set back over the snapshots that could be read.

    Keys of no product, such as a lock's, come and go as they like.
    """
    readable = [one for one in snapshots if one.error is None]
    if len(readable) == 1:
        return {}, {}
    moved = movements((one.incarnation, held(one, numbers)) for one in readable)
    gone, back = moved.vanished, moved.set_back
    return (
        {key: f"stored after incarnation {gone[number]}" for key, number in numbers.items() if number in gone},
        {key: f"absent after incarnation {back[number]}" for key, number in numbers.items() if number in back},
    )


def changed_again(course: Course) -> bool | None:
    """Whether an `again` start changed the rows: True is `not_idempotent`, None when no such start came to its end."""
    proper = len(proper_incarnations(course.incarnations))
    # One that was given up on says nothing about the rows: it may have been on its way to the same ones.
    ended = {one.number for one in course.incarnations[proper:] if one.ended_by != "limit"}
    # Of copies side by side the last to end counts: behind the others one may be at work on its rows.
    copies = len({one.instance for one in course.incarnations})
    after = [one for one in course.snapshots[proper + copies - 1 :: copies] if one.incarnation in ended]
    if not after:
        return None
    before = _content(course.snapshots[proper - 1])
    return any(_content(one) != before for one in after)


def _content(snapshot: Snapshot) -> tuple[int, int, list[str], str | None, object]:
    """The rows as a multiset: their number and the sum of their digests, in which no order shows; and the effects."""
    total = 0
    for row in snapshot.rows:
        values = sorted((name, type(value).__name__, text_of(value)) for name, value in row.values.items())
        text = repr((row.key, values)).encode()
        total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())
    return len(snapshot.rows), total, sorted(snapshot.damage), snapshot.error, lasting(snapshot.effects)
