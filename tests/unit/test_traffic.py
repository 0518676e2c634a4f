"""Counts of requests."""

from evidence_builder import crawl, request
from killtest.judge.traffic import count


def test_clean_crawl_costs_the_minimum() -> None:
    traffic = count(crawl(), 6, None, 5)
    assert (traffic.requests, traffic.repeated, traffic.overlap, traffic.per_row) == (6, 0, 0, 1.2)


def test_repeats_within_and_across_incarnations_are_told_apart() -> None:
    asked = [*crawl(), request(10, "/product/1"), request(11, "/product/2", incarnation=1), request(12, "/product/3")]
    traffic = count(asked, 6, 6, 5)
    assert (traffic.requests, traffic.repeated, traffic.overlap) == (9, 3, 1)
    assert (traffic.minimum, traffic.baseline) == (6, 6)


def test_images_and_redirects_are_other() -> None:
    traffic = count([*crawl(), request(10, "/image/1"), request(11, "/")], 6, None, 5)
    assert (traffic.requests, traffic.other) == (6, 2)


def test_concurrent_fetches_of_one_url_are_counted_at_their_peak() -> None:
    asked = [
        request(1, "/product/1", ended_s=5.0),
        request(2, "/product/1", ended_s=3.0),
        request(3, "/product/1", ended_s=4.0),
        request(4, "/product/2", ended_s=9.0),
    ]
    assert count(asked, 6, None, 5).max_concurrent == 2


def test_fetch_that_ended_makes_room_for_one() -> None:
    asked = [
        request(1, "/product/1", ended_s=9.0),
        request(2, "/product/1", ended_s=3.0),
        request(4, "/product/1", ended_s=6.0),
        request(5, "/product/1", ended_s=7.0),
    ]
    assert count(asked, 6, None, 5).max_concurrent == 3


def test_fetch_that_is_still_open_meets_all_that_come_later() -> None:
    asked = [request(1, "/product/1", ended_s=None), request(2, "/product/1"), request(3, "/product/1")]
    assert count(asked, 6, None, 5).max_concurrent == 2


def test_fetches_of_no_duration_and_no_fetches() -> None:
    asked = [request(1, "/product/1", ended_s=1.0), request(1, "/product/1", ended_s=1.0)]
    assert count(asked, 6, None, 5).max_concurrent == 1
    assert count([request(1, "/image/1")], 6, None, 5).max_concurrent == 0
    assert count(crawl(), 6, None, 5).max_concurrent == 1


def test_one_fetch_after_the_other_is_not_concurrent() -> None:
    asked = [request(1, "/product/1", ended_s=2.0), request(2, "/product/1", ended_s=3.0)]
    assert count(asked, 6, None, 5).max_concurrent == 1


def test_late_requests_are_counted_and_no_rows_have_no_ratio() -> None:
    traffic = count([request(1, "/product/1", late=True)], 6, None, 0)
    assert (traffic.late, traffic.per_row) == (1, None)
    assert count(crawl(6), 6, None, 3).per_row == 2.3333
