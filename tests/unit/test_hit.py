"""Where a fault hit, from the evidence of its trial."""

import msgspec
from evidence_builder import CLEAN, crawl, evidence, request, struck
from killtest.judge.evidence import Evidence, Request
from killtest.shrink.hit import Hit, hits_of


def trial(requests: list[Request], t_s: float | None, incarnation: int = 0) -> Evidence:
    fault = msgspec.structs.replace(struck("after:0.5 KILL"), t_s=t_s, incarnation=incarnation)
    return evidence(CLEAN, CLEAN, requests=requests, faults=(fault,))


def test_an_answered_request_is_not_open() -> None:
    assert hits_of(trial(crawl(), 3.5)) == (Hit(("/list/0", "/product/1", "/product/2")),)


def test_the_youngest_open_request_is_the_one_that_was_hit() -> None:
    held = [request(1, "/list/0"), request(2, "/product/1", ended_s=4.0), request(3, "/product/2", ended_s=5.0)]
    assert hits_of(trial(held, 3.5)) == (Hit(("/list/0", "/product/1", "/product/2"), open=3),)
    answered = [*held[:2], request(3, "/product/2")]
    assert hits_of(trial(answered, 3.5)) == (Hit(("/list/0", "/product/1", "/product/2"), open=2),)


def test_only_page_requests_of_the_same_incarnation_count() -> None:
    asked = [
        *crawl(2),
        request(4, "/robots.txt", 1),
        request(5, "/product/5", 1, late=True),
        request(6, "/list/0", 1),
        request(7, "/product/4", 1),
    ]
    assert hits_of(trial(asked, 6.5, incarnation=1)) == (Hit(("/list/0",)),)


def test_before_the_first_request_and_not_at_all_are_told_apart() -> None:
    assert hits_of(trial(crawl(), 0.5)) == (Hit(),)
    assert hits_of(trial(crawl(), None)) == (None,)
