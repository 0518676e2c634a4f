"""The draft for a crawler's tracker: a fault in words."""

import pytest
from killtest.plan.fault_text import parse
from killtest.shrink import issue


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("status:/product/6=503*2", "the site answering as `status:/product/6=503*2` says for the whole crawl"),
        (
            "request:25 slow:/list/0=9",
            "the site answering as `slow:/list/0=9` says while page request 25 waited for its answer",
        ),
        ("request:25 KILL", "SIGKILL to its whole process tree while page request 25 waited for its answer"),
    ],
)
def test_a_fault_in_words(fault: str, words: str) -> None:
    assert issue._fault(parse(fault)) == words
