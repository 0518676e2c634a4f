"""What holds of every verdict: over generated shops, request logs, stores and damages to them."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from evidence_builder import evidence, fields, product, request
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.judge.evidence import Request
from killtest.judge.truth import Product, Truth
from killtest.judge.verdict import Verdict, judge
from killtest.store.rows import Row, Value
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

FINDINGS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back")
# Which page of a product of two shows which field.
ON_SECOND_PAGE = ("price",)


@dataclass(frozen=True)
class Trial:
    """A shop, what was asked of it, and what the store held after each incarnation; `damage` is that of the last."""

    products: tuple[Product, ...]
    requests: tuple[Request, ...]
    rows: tuple[Row, ...]
    damage: tuple[str, ...] = ()
    earlier: tuple[tuple[Row, ...], ...] = field(default=())

    def judged(self) -> Verdict:
        """The verdict on it."""
        snapshots = [Snapshot(n, rows) for n, rows in enumerate((*self.earlier, self.rows))]
        snapshots[-1] = replace(snapshots[-1], damage=self.damage)
        return judge(evidence(*snapshots, requests=self.requests, shop=Truth(1, self.products)))

    def found(self) -> dict[str, set[str]]:
        """The keys and places of each finding that is not empty."""
        data = self.judged().data
        return {name: set(getattr(data, name)) for name in FINDINGS if getattr(data, name)}

    def newest(self, page: str) -> int:
        """The newest version of a page that was answered."""
        return max((r.version or 0 for r in self.requests if r.path == page), default=0)


@st.composite
def crawls(draw: st.DrawFn, least: int = 1) -> Trial:
    """An undamaged crawl: every page answered once or more, in versions that never fall, and its newest stored."""
    products = tuple(
        product(n, versions=draw(st.integers(1, 3)), pages=draw(st.integers(1, 2)))
        for n in range(1, draw(st.integers(least, 4)) + 1)
    )
    asked = [request(0, "/list/0")]
    rows = []
    for one in products:
        newest = []
        for page in one.pages:
            versions = sorted(draw(st.lists(st.sampled_from(range(len(one.versions))), min_size=1, max_size=3)))
            newest.append(versions[-1])
            asked += [replace(request(0, page), version=version, key=one.key) for version in versions]
        number = int(one.key[-5:])
        shown = fields(number, newest[0]) | {name: fields(number, newest[-1])[name] for name in ON_SECOND_PAGE}
        rows.append(Row(one.key, dict(shown), f"row {number}"))
    requests = [replace(one, seq=seq, arrived_s=seq, ended_s=seq + 0.001) for seq, one in enumerate(asked, 1)]
    return Trial(products, tuple(requests), tuple(rows))


# Damages: each changes a trial at one product, and says which findings that must give.

Damaged = tuple[Trial, dict[str, set[str]]]


def without(trial: Trial, key: str) -> Trial:
    """The trial with no row of that product at its end."""
    return with_rows(trial, tuple(row for row in trial.rows if row.key != key))


def with_rows(trial: Trial, rows: tuple[Row, ...]) -> Trial:
    """The trial with other rows at its end."""
    return Trial(trial.products, trial.requests, rows, trial.damage, trial.earlier)


def lose(trial: Trial, one: Product) -> Damaged:
    return without(trial, one.key), {"lost": {one.key}}


def miss(trial: Trial, one: Product) -> Damaged:
    bare = without(trial, one.key)
    requests = tuple(r for r in bare.requests if r.path not in one.pages)
    return Trial(bare.products, requests, bare.rows, bare.damage, bare.earlier), {"missed": {one.key}}


def double(trial: Trial, one: Product) -> Damaged:
    twin = next((row for row in trial.rows if row.key == one.key), None)
    return (with_rows(trial, (*trial.rows, twin)), {"duplicated": {one.key}}) if twin else lose(trial, one)


def corrupt(trial: Trial, one: Product) -> Damaged:
    rows = (replace(r, values=r.values | {"title": "?"}) if r.key == one.key else r for r in trial.rows)
    return with_rows(trial, tuple(rows)), {"corrupted": {one.key}}


def age(trial: Trial, one: Product) -> Damaged:
    """An older row than all pages were served in; a shop in which that can't be is given a newer version first."""
    served = min(trial.newest(page) for page in one.pages)
    if served == 0:
        grown = product(int(one.key[-5:]), max(2, len(one.versions)), len(one.pages))
        asked = tuple(replace(request(90 + n, page), version=1) for n, page in enumerate(one.pages))
        products = tuple(grown if each.key == one.key else each for each in trial.products)
        trial = Trial(products, (*trial.requests, *asked), trial.rows, trial.damage, trial.earlier)
    old = dict(fields(int(one.key[-5:]), 0))
    rows = (replace(r, values=old) if r.key == one.key else r for r in trial.rows)
    return with_rows(trial, tuple(rows)), {"stale": {one.key}}


def unname(trial: Trial, one: Product) -> Damaged:
    place = f"nameless {one.key}"
    return with_rows(trial, (*trial.rows, Row(None, {"title": "?"}, place))), {"corrupted": {place}}


def tear(trial: Trial, one: Product) -> Damaged:
    place = f"torn {one.key}"
    damage = (*trial.damage, f"{place}: no JSON")
    return Trial(trial.products, trial.requests, trial.rows, damage, trial.earlier), {"corrupted": {place}}


def invent(trial: Trial, one: Product) -> Damaged:
    key = f"NO-{one.key}"
    return with_rows(trial, (*trial.rows, Row(key, {}, f"row {key}"))), {"unexpected": {key}}


def vanish(trial: Trial, one: Product) -> Damaged:
    bare = without(trial, one.key)
    earlier = (*bare.earlier, (*bare.rows, Row(one.key, {}, "row 1")))
    return Trial(bare.products, bare.requests, bare.rows, bare.damage, earlier), {
        "vanished": {one.key},
        "lost": {one.key},
    }


DAMAGES: list[Callable[[Trial, Product], Damaged]] = [
    *(lose, miss, double, corrupt, age, unname, tear, invent, vanish),
]  # fmt: skip


def joined(findings: list[dict[str, set[str]]]) -> dict[str, set[str]]:
    """All of them together."""
    names = {name for one in findings for name in one}
    return {name: set().union(*(one.get(name, set()) for one in findings)) for name in names}


@given(crawls())
def test_undamaged_crawl_passes(trial: Trial) -> None:
    verdict = trial.judged()
    assert (verdict.outcome, verdict.cause, verdict.false_done) == ("PASS", None, False)
    assert trial.found() == {}


@pytest.mark.parametrize("damage", DAMAGES)
@given(st.data())
def test_each_damage_gives_exactly_its_finding(
    damage: Callable[[Trial, Product], Damaged], data: st.DataObject
) -> None:
    trial = data.draw(crawls())
    damaged, expected = damage(trial, data.draw(st.sampled_from(trial.products)))
    assert damaged.found() == expected
    verdict = damaged.judged()
    assert (verdict.outcome, verdict.false_done) == ("FAIL", bool(expected.keys() & {"lost", "missed"}))


@given(st.data())
def test_damages_to_different_products_add_up(data: st.DataObject) -> None:
    """So more damage never removes a finding of another product."""
    trial = data.draw(crawls(least=2))
    expected = []
    for one in data.draw(st.lists(st.sampled_from(trial.products), unique_by=lambda one: one.key)):
        trial, findings = data.draw(st.sampled_from(DAMAGES))(trial, one)
        expected.append(findings)
    found = trial.found()
    # An earlier snapshot, which a vanished row needs, holds what others have lost only since.
    wanted = joined(expected)
    assert {name: keys for name, keys in found.items() if name not in ("vanished", "set_back")} == {
        name: keys for name, keys in wanted.items() if name != "vanished"
    }
    assert (
        wanted.get("vanished", set())
        <= found.get("vanished", set())
        <= found.get("lost", set()) | found.get("missed", set())
    )


@given(st.data())
def test_more_damage_never_turns_fail_into_pass(data: st.DataObject) -> None:
    trial = data.draw(crawls())
    for damage in data.draw(st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=5)):
        trial, _ = damage(trial, data.draw(st.sampled_from(trial.products)))
        assert trial.judged().outcome == "FAIL"


@given(st.data())
def test_duplicate_adds_exactly_one_extra_row(data: st.DataObject) -> None:
    trial = data.draw(crawls())
    before = trial.judged().data
    row = data.draw(st.sampled_from(trial.rows))
    after = with_rows(trial, (*trial.rows, row)).judged().data
    assert before is not None
    assert after is not None
    assert row.key is not None
    assert after == replace(before, rows=len(trial.rows) + 1, duplicated={row.key: 1}, rows_after=after.rows_after)


@given(st.data())
def test_order_of_rows_and_requests_does_not_matter(data: st.DataObject) -> None:
    trial = data.draw(crawls())
    for damage in data.draw(st.lists(st.sampled_from(DAMAGES), max_size=3)):
        trial, _ = damage(trial, data.draw(st.sampled_from(trial.products)))
    rows = tuple(data.draw(st.permutations(trial.rows)))
    requests = tuple(data.draw(st.permutations(trial.requests)))
    other = Trial(trial.products, requests, rows, trial.damage, trial.earlier)
    assert other.judged() == trial.judged()


@given(crawls(), st.data())
def test_counts_add_up(trial: Trial, data: st.DataObject) -> None:
    kept = [row for row in trial.rows for _ in range(data.draw(st.integers(0, 3)))]
    found = with_rows(trial, tuple(kept)).judged().data
    assert found is not None
    assert found.rows == len(kept) == found.distinct + sum(found.duplicated.values())
    assert found.distinct + len(found.lost) + len(found.missed) == found.products == len(trial.products)


# Values

TEXTS = (
    st.text() | st.text(st.characters(categories=["Cc", "Cf", "Mn", "Zs"])) | st.sampled_from(["", "1e999999999", "-0"])
)
WEIRD: st.SearchStrategy[Value] = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.integers(4400, 5000).map(lambda digits: 10**digits)
    | TEXTS
)


@settings(deadline=None)
@given(
    crawls(),
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(["SKU-00001", "SKU-00002"]) | TEXTS,
            st.dictionaries(st.sampled_from(["sku", "title", "price", "image", "x"]), WEIRD),
        )
    ),
)
def test_no_value_upsets_the_judge_and_it_says_the_same_twice(
    trial: Trial, stored: list[tuple[str | None, dict[str, Value]]]
) -> None:
    rows = tuple(Row(key, values, f"row {n}") for n, (key, values) in enumerate(stored, 1))
    other = Trial(trial.products, trial.requests, rows, earlier=(rows, trial.rows))
    first = other.judged()
    assert first == other.judged()
    assert msgspec.json.encode(first) == msgspec.json.encode(other.judged())
    both = (Snapshot(0, rows), Snapshot(1, rows[::-1]))
    again = evidence(*both, again=1, requests=trial.requests, is_control=True)
    assert judge(again).not_idempotent is False


@given(st.data())
def test_price_in_any_spelling_and_text_in_any_form_are_what_was_served(data: st.DataObject) -> None:
    trial = data.draw(crawls())
    spellings: list[Callable[[str], Any]] = [
        float, lambda price: f" {price}000\n", lambda price: f"+{price}", lambda price: f"{float(price):.9e}", str,
    ]  # fmt: skip
    forms = ("NFC", "NFD")
    rows = []
    for row in trial.rows:
        price, title = str(row.values["price"]), str(row.values["title"])
        spelt = data.draw(st.sampled_from(spellings))(price)
        form = data.draw(st.sampled_from(forms))
        rows.append(
            replace(row, values=row.values | {"price": spelt, "title": unicodedata.normalize(form, f"\t{title} ")})
        )
    assert with_rows(trial, tuple(rows)).found() == {}
