"""The oracle: pure functions from what a trial left to findings about its data (docs/verdict.md)."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

import msgspec

from killtest.judge.evidence import Evidence, Incarnation, Request
from killtest.judge.traffic import pages
from killtest.judge.truth import FIELDS, Product, Truth
from killtest.store.rows import Row, Value
from killtest.store.snapshot import Snapshot


class Data(msgspec.Struct, frozen=True):
    """Findings about the rows. Every mapping goes from a key (or a place, when no key can be read) to a detail.

    `lost`: never stored although a request for a page carrying it arrived, with how the best of those
    requests fared (answered, broken, held); `missed`: never requested; `duplicated`: how many rows too many;
    `corrupted`: what is wrong with it; `unexpected`: keys that no page carries, and their number; `vanished`:
    after which incarnation it was stored although it is absent at the end; `set_back`: stored, then absent,
    then back (a cost, no finding). Of a store that can't be read at the end nothing is known: `rows` is None, and
    there are no findings but the ending.
    """

    rows: int | None
    distinct: int
    products: int
    lost: dict[str, str]
    missed: dict[str, str]
    duplicated: dict[str, int]
    corrupted: dict[str, str]
    unexpected: dict[str, int]
    vanished: dict[str, str]
    set_back: dict[str, str]
    columns_not_judged: tuple[str, ...]
    rows_after: tuple[int | None, ...]

    @property
    def has_finding(self) -> bool:
        """True when anything but a cost was found."""
        found = (self.lost, self.missed, self.duplicated, self.corrupted, self.unexpected, self.vanished)
        return any(found)


def judge_data(evidence: Evidence) -> Data:
    """What is wrong with the rows at the end of the trial proper (`again` starts are judged apart)."""
    course, truth = evidence.course, evidence.truth
    proper = proper_incarnations(course.incarnations)
    snapshots = course.snapshots[: len(proper)]
    final = snapshots[-1]
    products = {product.key: product for product in truth.rows}
    if final.error is not None:
        return _unreadable(len(products), course.snapshots)
    counts = Counter(row.key for row in final.rows if row.key is not None)
    absent = [key for key in products if key not in counts]
    asked = best_answers(truth, [r for r in evidence.requests if r.incarnation < len(proper)])
    return Data(
        rows=len(final.rows),
        distinct=sum(key in products for key in counts),
        products=len(products),
        lost={key: asked[key] for key in absent if key in asked},
        missed={key: "never requested" for key in absent if key not in asked},
        duplicated={key: n - 1 for key, n in sorted(counts.items()) if n > 1 and key in products},
        corrupted=corrupted_rows(final, products),
        unexpected={key: n for key, n in sorted(counts.items()) if key not in products},
        vanished={key: text for key, text in vanished_keys(snapshots, counts).items() if key in products},
        set_back=set_back_keys(snapshots),
        columns_not_judged=not_judged(final.rows),
        rows_after=tuple(None if one.error else len(one.rows) for one in course.snapshots),
    )


def _unreadable(products: int, snapshots: Iterable[Snapshot]) -> Data:
    after = tuple(None if one.error else len(one.rows) for one in snapshots)
    return Data(None, 0, products, {}, {}, {}, {}, {}, {}, {}, (), after)


def proper_incarnations(incarnations: Iterable[Incarnation]) -> list[Incarnation]:
    """The incarnations of the trial itself, without the `again` starts behind it."""
    return [one for one in incarnations if not one.is_again]


def best_answers(truth: Truth, requests: Iterable[Request]) -> dict[str, str]:
    """For each product that was asked for: how the best request for the page that got least far fared.

    A product of two pages can only be stored once both have been answered.
    """
    order = ("answered", "broken", "held")
    best: dict[str, int] = {}
    for request in pages(requests):
        rank = 0 if request.outcome == "sent" else 2 if request.outcome == "held" else 1
        best[request.path] = min(best.get(request.path, 2), rank)
    return {
        product.key: order[max(best[page] for page in product.pages if page in best)]
        for product in truth.rows
        if any(page in best for page in product.pages)
    }


def corrupted_rows(snapshot: Snapshot, products: Mapping[str, Product]) -> dict[str, str]:
    """Rows whose values no served version carries, rows without a key, and places that could not be read."""
    wrong = {place: reason for place, _, reason in (damage.partition(": ") for damage in snapshot.damage)}
    for row in snapshot.rows:
        if row.key is None:
            wrong[row.place] = "no key"
        elif row.key in products:
            difference = _difference(row, products[row.key])
            if difference:
                wrong[row.key] = difference
    return wrong


def _difference(row: Row, product: Product) -> str | None:
    """The first field in which the row differs from the version nearest to it; None when it equals one."""
    nearest: list[str] | None = None
    for version in product.versions:
        wrong = [field for field in FIELDS if not _agrees(row.values, version, field)]
        if not wrong:
            return None
        if nearest is None or len(wrong) < len(nearest):
            nearest = wrong
    field = nearest[0] if nearest else "versions"
    served = sorted({version[field] for version in product.versions if field in version})
    return f"{field} is {row.values.get(field)!r}, served: {', '.join(map(repr, served))}"


def _agrees(values: Mapping[str, Value], version: Mapping[str, str], field: str) -> bool:
    if field not in values or field not in version:
        return True
    stored = values[field]
    return stored is not None and _normal(field, str(stored)) == _normal(field, version[field])


def _normal(field: str, text: str) -> str | Decimal:
    """Text after Unicode NFC and trimming; a price as a decimal, so that 9.5 equals 9.50."""
    trimmed = unicodedata.normalize("NFC", text).strip()
    if field == "price":
        try:
            price = Decimal(trimmed)
        except InvalidOperation:
            return trimmed
        return price if price.is_finite() else trimmed
    return trimmed


def vanished_keys(snapshots: Iterable[Snapshot], final: Mapping[str, int]) -> dict[str, str]:
    """Keys that were stored after some incarnation and are absent at the end."""
    gone: dict[str, str] = {}
    for one in snapshots:
        for row in one.rows:
            if row.key is not None and row.key not in final:
                gone[row.key] = f"stored after incarnation {one.incarnation}"
    return gone


def set_back_keys(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Keys that were stored, then absent, then stored again: progress that had to be made twice."""
    seen: set[str] = set()
    absent: dict[str, int] = {}
    back: dict[str, str] = {}
    for one in snapshots:
        if one.error is not None:
            continue
        now = {row.key for row in one.rows if row.key is not None}
        back |= {key: f"absent after incarnation {absent[key]}" for key in now & absent.keys()}
        for key in now:
            absent.pop(key, None)
        absent |= {key: one.incarnation for key in seen - now if key not in absent}
        seen |= now
    return back


def not_judged(rows: Iterable[Row]) -> tuple[str, ...]:
    """The columns whose names are no fields of the truth, in order of appearance."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row.values)
    return tuple(name for name in names if name not in FIELDS)


def changed_again(evidence: Evidence) -> bool | None:
    """Whether an `again` start changed the rows: True is `not_idempotent`, None when there was no such start."""
    course = evidence.course
    proper = len(proper_incarnations(course.incarnations))
    if proper == len(course.incarnations):
        return None
    before = _content(course.snapshots[proper - 1])
    return any(_content(one) != before for one in course.snapshots[proper:])


def _content(snapshot: Snapshot) -> Counter[str]:
    """The rows as a multiset, in an order-free form; a store that can't be read differs from every other."""
    rows = ((row.key, sorted(row.values.items())) for row in snapshot.rows)
    return Counter([*(msgspec.json.encode(row).decode() for row in rows), *snapshot.damage, f"error: {snapshot.error}"])
