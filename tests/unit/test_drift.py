"""Whether a replay went another way than the stored trial."""

import msgspec
from evidence_builder import CLEAN, crawl, evidence, request, struck
from killtest.judge.evidence import Evidence, Request
from killtest.replay.drift import drift


def trial(requests: list[Request], *strikes: float | None, in_flight: tuple[str, ...] = ("/product/2",)) -> Evidence:
    """A trial whose faults struck at these seconds."""
    fault = msgspec.structs.replace(struck(), in_flight=in_flight)
    faults = tuple(msgspec.structs.replace(fault, t_s=t_s) for t_s in strikes)
    return evidence(CLEAN, CLEAN, requests=requests, faults=faults)


def test_the_same_requests_and_the_same_page_are_no_drift() -> None:
    assert drift(trial(crawl(), 3.5), trial(crawl(), 3.7)) == []


def test_what_comes_behind_the_strike_is_no_drift() -> None:
    more = [*crawl()[:4], request(5, "/product/5"), request(6, "/product/4")]
    assert drift(trial(crawl(), 3.5), trial(more, 3.5)) == []


def test_images_and_robots_are_no_drift() -> None:
    assert drift(trial(crawl(), 3.5), trial([request(0, "/robots.txt"), *crawl()], 3.5)) == []


def test_another_page_before_the_fault_is_named() -> None:
    now = [request(1, "/list/0"), request(2, "/product/7"), *crawl()[2:]]
    (told,) = drift(trial(crawl(), 3.5), trial(now, 3.5))
    assert (
        told == "the subject made other requests before the first fault: the 2nd was for /product/1, now for /product/7"
    )


def test_fewer_and_reordered_requests_are_told_apart() -> None:
    assert drift(trial(crawl(), 4.5), trial(crawl(), 3.5)) == [
        "the subject made 4 page requests before the first fault then, and 3 now"
    ]
    now = [request(1, "/list/0"), request(2, "/product/2"), request(3, "/product/1")]
    assert drift(trial(crawl(), 3.5), trial(now, 3.5)) == [
        "the subject made the same requests before the first fault in another order"
    ]


def test_a_strike_at_another_page_says_then_and_now() -> None:
    assert drift(trial(crawl(), 3.5), trial(crawl(), 3.5, in_flight=())) == [
        "the fault struck at another page (in flight then: /product/2, now: none)"
    ]
    then, now = trial(crawl(), 3.5, 9.0), trial(crawl(), 3.5, None)
    assert drift(then, now) == ["the 2nd fault struck then, and now it did the opposite"]
