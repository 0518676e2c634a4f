"""The judge of effects: each way to damage a clean crawl gives exactly that finding, and none where there is none."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from effects_builder import PRODUCTS, Crawl, capture, clean, fetch, file, hook, key, picture, shop, stored, values
from evidence_builder import evidence
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.judge.verdict import judge
from killtest.plan.effects import EffectNeeds, WebhookNeeds
from killtest.store.effects import Capture, StoredEffects
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

SIZE = 6966
Found = dict[str, dict[str, str]]


def found(crawl: Crawl) -> Found:
    """The findings about effects by name; nothing is wrong with the rows."""
    answer = judge(crawl.evidence)
    assert not answer.data or not answer.data.has_finding, answer.data
    assert (answer.outcome == "FAIL") is answer.effects.has_finding
    return answer.effects.named


def costs(crawl: Crawl) -> dict[str, dict[str, int]]:
    """The costs."""
    return judge(crawl.evidence).effects.costs


@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_clean_crawl_has_no_finding_and_no_cost(is_keyed: bool) -> None:
    crawl = clean(is_keyed)
    assert found(crawl) == {}
    assert costs(crawl) == {"webhooks": {"deduplicated": 0}, "captures": {"extra": 0}}


def test_what_is_not_declared_is_not_judged() -> None:
    crawl = clean()
    crawl.files, crawl.counters, crawl.captures, crawl.needs = [], {}, [], EffectNeeds()
    assert found(crawl) == {}
    assert judge(crawl.evidence).effects.kinds == ()


def name_of(number: int) -> str:
    """The name of a picture by content."""
    return f"images/{sha256(picture(number)).hexdigest()}.bmp"


def remove_file(crawl: Crawl) -> None:
    del crawl.files[2]


def cut_file(crawl: Crawl) -> None:
    crawl.files[2] = stored("x", picture(3)[:4000], crawl.files[2].key)


def empty_file(crawl: Crawl) -> None:
    crawl.files[2] = stored("x", b"", crawl.files[2].key)


def other_short_file(crawl: Crawl) -> None:
    crawl.files[2] = stored("x", b"\0" * 4000, crawl.files[2].key)


def mixed_file(crawl: Crawl) -> None:
    crawl.files[2] = stored("x", picture(3)[:4000] + picture(3, 1)[4000:], crawl.files[2].key)


def copied_file(crawl: Crawl) -> None:
    crawl.files.append(stored("y", picture(3), crawl.files[2].key))


def another_ones_picture(crawl: Crawl) -> None:
    crawl.files[2] = stored(key(3), picture(4), key(3))


def unknown_name(crawl: Crawl) -> None:
    crawl.files.append(stored("SKU-99999", picture(3), "SKU-99999"))


def nameless(crawl: Crawl) -> None:
    crawl.files.append(stored("x", picture(3), None))


NO_3 = {"files.missing": {key(3): "no picture of it"}}
WRONG_3 = {"files.wrong": {"images/x.bmp": f"{SIZE} bytes like no version served"}}
FILE_DAMAGES: dict[str, tuple[bool, Callable[[Crawl], None], Found]] = {
    "removed": (False, remove_file, NO_3),
    "removed, keyed": (True, remove_file, NO_3),
    "cut": (False, cut_file, {"files.truncated": {"images/x.bmp": f"the first 4000 of {SIZE} bytes of {key(3)}"}}),
    "cut, keyed": (
        True,
        cut_file,
        {"files.truncated": {"images/x.bmp": f"the first 4000 of {SIZE} bytes of {key(3)}"}},
    ),
    "empty": (False, empty_file, {"files.truncated": {"images/x.bmp": f"the first 0 of {SIZE} bytes"}, **NO_3}),
    "empty, keyed": (
        True,
        empty_file,
        {"files.truncated": {"images/x.bmp": f"the first 0 of {SIZE} bytes of {key(3)}"}},
    ),
    "short, of zeros": (
        True,
        other_short_file,
        {"files.truncated": {"images/x.bmp": f"4000 of {SIZE} bytes, and those were never served"}},
    ),
    "mixed": (False, mixed_file, {**WRONG_3, **NO_3}),
    "mixed, keyed": (True, mixed_file, WRONG_3),
    "copied": (False, copied_file, {"files.doubled": {"images/y.bmp": f"the same as {name_of(3)}"}}),
    "copied, keyed": (True, copied_file, {"files.doubled": {"images/y.bmp": f"the same as images/{key(3)}.bmp"}}),
    "another's": (True, another_ones_picture, {"files.wrong": {f"images/{key(3)}.bmp": f"the picture of {key(4)}"}}),
    "unknown key": (
        True,
        unknown_name,
        {"files.wrong": {"images/SKU-99999.bmp": "SKU-99999 is no key of this shop"}},
    ),
    "no key": (True, nameless, {"files.wrong": {"images/x.bmp": "its name carries no key"}}),
}


@pytest.mark.parametrize("name", FILE_DAMAGES)
def test_each_damage_of_a_file_gives_exactly_its_finding(name: str) -> None:
    is_keyed, damage, wanted = FILE_DAMAGES[name]
    crawl = clean(is_keyed)
    damage(crawl)
    assert found(crawl) == wanted


@given(st.integers(1, PRODUCTS), st.integers(55, SIZE - 1))
@settings(deadline=None, max_examples=50)
def test_a_picture_cut_anywhere_in_its_pixels_is_truncated(number: int, size: int) -> None:
    crawl = clean(is_keyed=True)
    crawl.files[number - 1] = stored("x", picture(number)[:size], key(number))
    assert found(crawl) == {"files.truncated": {"images/x.bmp": f"the first {size} of {SIZE} bytes of {key(number)}"}}


@pytest.mark.parametrize(
    ("outcome", "status", "is_stale"),
    [("sent", 200, True), ("sent", 304, True), ("sent", 206, False), ("broken", 200, False)],
)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_picture_is_stale_once_a_newer_one_was_served_in_full(
    outcome: str, status: int, is_stale: bool, is_keyed: bool
) -> None:
    crawl = clean(is_keyed, bumped=3)
    crawl.requests.append(fetch(30, 3, version=1, outcome=outcome, status=status))
    said = {crawl.files[2].path: f"version 0 of {key(3)} stored, version 1 served"}
    assert found(crawl) == ({"files.stale": said} if is_stale else {})


def test_the_older_picture_beside_the_newer_one_is_no_finding_where_names_are_content() -> None:
    crawl = clean(bumped=3)
    crawl.files.append(file(3, version=1))
    crawl.requests.append(fetch(30, 3, version=1))
    assert found(crawl) == {}


def test_only_stored_rows_want_pictures_captures_and_announcements() -> None:
    crawl = clean()
    for kept in (crawl.rows, crawl.files, crawl.captures, crawl.requests):
        kept.pop()
    crawl.counters = {"rows": 4}
    answer = judge(crawl.evidence)
    assert answer.data is not None
    assert list(answer.data.lost) == [key(5)]
    assert not answer.effects.has_finding


# Webhooks


def announced(crawl: Crawl, body: Any, idem: str | None = None, **changes: Any) -> Found:
    """The findings after one more delivery."""
    crawl.requests.append(hook(len(crawl.requests) + 1, body, idem, **changes))
    return found(crawl)


TWICE = {"webhooks.twice": {key(3): "accepted 2 times"}}


def test_the_same_announcement_with_another_key_or_none_is_twice() -> None:
    body = values(shop(), 3)
    assert announced(clean(), body, "other") == TWICE
    assert announced(clean(), body) == TWICE
    assert announced(clean(), dict(reversed(body.items()))) == TWICE, "in another spelling"
    assert announced(clean(), body, outcome="held", status=None) == TWICE, "delivered, and its answer never came"
    assert announced(clean(), body, outcome="broken", status=202, incarnation=0) == TWICE


def test_columns_that_differ_each_time_do_not_hide_a_repetition() -> None:
    crawl = clean()
    crawl.needs = replace(crawl.needs, webhooks=WebhookNeeds("sku", varying=("sent_at", "delivery")))
    assert announced(crawl, values(crawl.truth, 3) | {"sent_at": 1.5, "delivery": "a"}) == TWICE


def test_an_idempotency_key_seen_before_makes_it_a_cost() -> None:
    crawl = clean()
    assert announced(crawl, values(crawl.truth, 3), f"{key(3)}-0") == {}
    assert costs(crawl)["webhooks"] == {"deduplicated": 1}


def test_an_announcement_that_met_an_error_page_was_not_accepted() -> None:
    crawl = clean()
    assert announced(crawl, values(crawl.truth, 3), status=503) == {}
    crawl.requests = [one for one in crawl.requests if one.hook is None or key(3) not in str(one.hook.body)]
    crawl.requests.append(hook(40, values(crawl.truth, 3), f"{key(3)}-0", status=503))
    assert found(crawl) == {"webhooks.never": {key(3): "never announced"}}
    crawl.requests.append(hook(41, values(crawl.truth, 3), f"{key(3)}-0"))
    assert found(crawl) == {}
    assert costs(crawl)["webhooks"] == {"deduplicated": 0}


@pytest.mark.parametrize("status", [422, None])  # None: its client was gone before the first byte
def test_an_error_page_that_was_planned_is_told_by_its_name_not_by_its_status(status: int | None) -> None:
    crawl = clean()
    met = hook(14, values(crawl.truth, 3), status=status)
    crawl.requests[13] = replace(met, misbehaviour=("status:/hook=422*1",))
    assert found(crawl) == {"webhooks.never": {key(3): "never announced"}}
    assert announced(crawl, values(crawl.truth, 3)) == {}


@pytest.mark.parametrize("status", [202, 422])
def test_the_key_of_another_body_is_wrong_whatever_the_site_could_know(status: int) -> None:
    crawl = clean()
    wrong = {key(3): f"its Idempotency-Key {key(2)}-0 came with another body before"}
    crawl.requests[13] = hook(14, values(crawl.truth, 3), f"{key(2)}-0", status=status)
    assert found(crawl) == {"webhooks.wrong": wrong}


def test_an_announcement_of_nothing_served_is_wrong() -> None:
    body = values(shop(), 3)
    assert announced(clean(), {"sku": "SKU-99999"}) == {"webhooks.wrong": {"SKU-99999": "no page carries that key"}}
    assert announced(clean(), {"title": "x"}) == {"webhooks.wrong": {"request 17": "no key"}}
    assert announced(clean(), None, status=400) == {"webhooks.wrong": {"request 17": "no JSON object, or too large"}}
    ((name, said),) = announced(clean(), body | {"price": "0.00"})["webhooks.wrong"].items()
    assert (name, said.startswith("price is '0.00', served: ")) == (key(3), True)


def test_each_version_is_announced_once() -> None:
    crawl = clean(bumped=3)
    new = values(crawl.truth, 3, version=1)
    crawl.rows[2] = Row(key(3), new, "row 3")
    crawl.counters = {"rows": 5}
    assert found(crawl) == {"webhooks.never": {key(3): "version 1 stored, version 0 announced"}}
    assert announced(crawl, new, f"{key(3)}-1") == {}


# Counters


COUNTER_DAMAGES: dict[str, tuple[dict[str, Any], Found]] = {
    "too many": ({"rows": 6}, {"counters.wrong": {"rows": "it says 6, the rows: 5"}}),
    "text": ({"rows": "5"}, {}),
    "a number that can't be compared": (
        {"rows": "sNaN"},
        {"counters.wrong": {"rows": "it says sNaN, the rows: 5"}},
    ),
    "no number": ({"rows": "many"}, {"counters.wrong": {"rows": "it says many, the rows: 5"}}),
    "nothing": ({"rows": None}, {"counters.wrong": {"rows": "it says None, the rows: 5"}}),
    "none": ({}, {"counters.missing": {"(all)": "no counter is stored"}}),
    "of no row": (
        {"sku=SKU-9": 1, **{f"sku={key(n)}": 1 for n in range(1, 6)}},
        {"counters.wrong": {"sku=SKU-9": "it says 1, the rows: 0"}},
    ),
    "one value left out": (
        {f"sku={key(n)}": 1 for n in range(1, 5)},
        {"counters.missing": {f"sku={key(5)}": "the rows: 1"}},
    ),
    "of something else": ({"rows": 5, "pages": 6}, {"counters.wrong": {"pages": "neither `rows` nor FIELD=VALUE"}}),
}


@pytest.mark.parametrize("name", COUNTER_DAMAGES)
def test_each_damage_of_a_counter_gives_exactly_its_finding(name: str) -> None:
    crawl = clean()
    crawl.counters, wanted = COUNTER_DAMAGES[name]
    assert found(crawl) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("rows", {"counters.missing": {"rows": "the rows: 5"}}),
        ("availability=sold out", {}),  # of no row any more, as its product was changed: a GROUP BY leaves it out
    ],
)
def test_a_counter_that_was_there_earlier_is_missing_when_it_counts_rows(name: str, wanted: Found) -> None:
    crawl = clean()
    del crawl.counters["rows"]
    last = crawl.evidence.course.snapshots[0]
    before = replace(last, effects=StoredEffects(counters={name: 2}))
    after = evidence(before, replace(last, incarnation=1), requests=crawl.requests, shop=crawl.truth)
    assert judge(replace(after, effects=crawl.needs)).effects.named == wanted


def test_a_field_without_a_value_is_not_counted() -> None:
    crawl = clean()
    crawl.rows = [replace(row, values=row.values | {"colour": None}) for row in crawl.rows]
    crawl.rows[0].values["colour"] = "red"
    crawl.counters = {"rows": 5, "colour=red": 1}
    assert found(crawl) == {}


# Captures


def test_each_damage_of_a_capture_gives_exactly_its_finding() -> None:
    crawl = clean()
    crawl.captures.append(Capture("line 7", "/product/3", sha256(b"half a page").hexdigest()))
    assert found(crawl) == {"captures.wrong": {"line 7": "/product/3: like nothing served there"}}
    crawl.captures[-1] = Capture("line 7", "/product/77", None)
    assert found(crawl) == {"captures.wrong": {"line 7": "no URL or no body"}}
    crawl.captures[-1] = replace(crawl.captures[1], path="/elsewhere", place="line 7")
    assert found(crawl) == {"captures.wrong": {"line 7": "/elsewhere is no page of this shop"}}
    crawl.captures.pop()
    crawl.torn = ("line 7: torn",)
    assert found(crawl) == {"captures.torn": {"line 7": "torn"}}
    crawl.torn = ()
    del crawl.captures[3]
    assert found(crawl) == {"captures.missing": {key(3): "no whole capture of /product/3"}}


def test_what_the_shop_serves_besides_its_pages_may_be_kept_too() -> None:
    crawl = clean()
    crawl.captures[0] = replace(crawl.captures[0], path="/")  # it leads to the first list page
    other = sha256(b"User-agent: *").hexdigest()
    crawl.captures += [Capture("line 7", "/robots.txt", other), Capture("line 8", "/sitemap.xml", other)]
    assert found(crawl) == {}
    crawl.captures[0] = replace(crawl.captures[0], sha256=other)
    assert found(crawl) == {"captures.wrong": {"line 1": "/: like nothing served there"}}


def test_captures_beyond_need_are_a_cost() -> None:
    crawl = clean(bumped=3)
    crawl.captures += [crawl.captures[0], crawl.captures[3], capture(crawl.truth, 3, "line 9", version=1)]
    assert found(crawl) == {}
    assert costs(crawl)["captures"] == {"extra": 2}


def test_what_cannot_be_read_is_said() -> None:
    crawl = clean()
    crawl.unreadable = {"captures": "store captures.jsonl: no"}
    assert found(crawl)["captures.unreadable"] == {"captures": "store captures.jsonl: no"}


# `again` starts


def again(change: Callable[[Crawl], None]) -> bool | None:
    """Whether running it again, which does that, is said to have changed something."""
    crawl, before = clean(), clean().evidence.course.snapshots[0]
    change(crawl)
    after = replace(crawl.evidence.course.snapshots[0], incarnation=1)
    trial = evidence(before, after, requests=crawl.requests, again=1, is_control=True, shop=crawl.truth)
    return judge(replace(trial, effects=crawl.needs)).not_idempotent


def announce_again(crawl: Crawl) -> None:
    crawl.requests.append(hook(50, values(crawl.truth, 3), "new", incarnation=1))


def announce_with_the_key(crawl: Crawl) -> None:
    crawl.requests.append(hook(50, values(crawl.truth, 3), f"{key(3)}-0", incarnation=1))


def count_on(crawl: Crawl) -> None:
    crawl.counters["rows"] = 10


def capture_again(crawl: Crawl) -> None:
    crawl.captures.append(replace(crawl.captures[0], place="line 7"))


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [
        (lambda _: None, False),
        (announce_again, True),
        (announce_with_the_key, False),
        (copied_file, True),
        (cut_file, True),
        (count_on, True),
        (capture_again, False),
    ],
)
def test_running_again_must_leave_effects_as_they_were(change: Callable[[Crawl], None], is_changed: bool) -> None:
    assert again(change) is is_changed


def test_nothing_is_judged_where_the_rows_cannot_be_read() -> None:
    crawl = clean()
    trial = evidence(Snapshot(0, error="no"), requests=crawl.requests, shop=crawl.truth, ending="unreadable_store")
    answer = judge(replace(trial, effects=crawl.needs))
    assert (answer.outcome, answer.effects.named) == ("FAIL", {})


def test_two_pages_of_a_product_want_a_capture_each() -> None:
    crawl = clean()
    crawl.truth = shop(shape="two_page")
    views = [
        Capture(f"line {20 + n}", f"/view/{n}", crawl.truth.rows[n - 1].page_sha256[0][f"/view/{n}"])
        for n in range(1, 5)
    ]
    crawl.captures = [capture(crawl.truth, n, f"line {n}") for n in range(1, 6)] + views
    crawl.requests += [
        replace(one, path=one.path.replace("product", "view")) for one in crawl.requests if "product" in one.path
    ]
    assert found(crawl) == {"captures.missing": {key(5): "no whole capture of /view/5"}}
