"""What the site answered: versions, moments and fates of pages."""

from evidence_builder import product, request
from killtest.judge.answers import best_fates, fate_of, first_answers, newest_versions, version_served
from killtest.judge.request_log import Proper, Request
from killtest.judge.truth import Product
from msgspec.structs import replace


def shown(version: int | None, path: str = "/product/1", **changes: object) -> Request:
    """An answer that showed that version, with changes."""
    return replace(request(1, path), version=version, **changes)


def test_newest_version_counts_only_pages_that_went_out_in_full() -> None:
    asked = [shown(1), shown(2), shown(1), shown(None, "/list/0"), shown(0, "/product/2")]
    asked += [shown(3, outcome="broken"), shown(3, outcome="held"), shown(3, status=404), shown(3, kind="other")]
    assert newest_versions(asked) == {"/product/1": 2}
    assert newest_versions([shown(3, status=200), shown(4, status=299)]) == {"/product/1": 4}
    assert newest_versions([shown(3, status=400), shown(3, status=302), shown(3, status=300)]) == {}


def test_version_served_of_a_product_is_that_of_its_oldest_page() -> None:
    one, two = product(1), product(1, pages=2)
    assert [version_served(one, newest) for newest in ({}, {"/product/1": 2}, {"/view/1": 2})] == [0, 2, 0]
    assert version_served(two, {"/product/1": 2}) == 0
    assert version_served(two, {"/product/1": 2, "/view/1": 1}) == 1
    assert version_served(Product("k", (), ()), {"/product/1": 2}) == 0


def test_first_answer_is_the_earliest_by_when_it_was_sent() -> None:
    asked = [
        request(5, "/product/1"),
        request(3, "/product/1", sent_s=3.25),
        request(1, "/product/1", outcome="broken"),
        request(1, "/product/2", ended_s=None),
        request(1, "/image/3"),
    ]
    assert first_answers(asked) == {"/product/1": 3.25}
    assert first_answers(asked[:1]) == {"/product/1": 5.001}


def test_best_fate_of_each_wanted_page() -> None:
    asked = [
        request(1, "/product/1", outcome="held"),
        request(2, "/product/1", outcome="broken"),
        request(3, "/product/2", outcome="open", ended_s=None),
        request(4, "/product/3", outcome="held"),
        request(5, "/product/4"),
        request(6, "/product/4", outcome="held"),
        request(7, "/product/5"),
        replace(request(8, "/product/6"), kind="other"),
    ]
    wanted = {f"/product/{n}" for n in (1, 2, 3, 4, 6)}
    assert best_fates(asked, wanted) == {"/product/1": 1, "/product/2": 1, "/product/3": 2, "/product/4": 0}


def test_product_of_two_pages_fares_as_the_page_that_got_least_far() -> None:
    both = product(1, pages=2)
    assert fate_of(both, {"/product/1": 0, "/view/1": 2}) == "held"
    assert fate_of(both, {"/product/1": 1, "/view/1": 0}) == "broken"
    assert fate_of(both, {"/product/1": 0}) == "answered"
    assert fate_of(both, {"/product/9": 0}) is None


def test_proper_requests_can_be_gone_through_again() -> None:
    proper = Proper([request(n + 1, "/a", incarnation=n) for n in range(4)], 2)
    assert [one.seq for one in proper] == [one.seq for one in proper] == [1, 2]
