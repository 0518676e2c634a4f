"""The draft for a crawler's tracker: a fault in words."""

import pytest
from killtest.judge.effects import NAMES
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
        (
            "partial:/image/7#2@9 KILL",
            "SIGKILL to its whole process tree when 9 bytes of the answer to `/image/7` (the 2. for it) had been sent",
        ),
        ("request:25 KILL", "SIGKILL to its whole process tree while page request 25 waited for its answer"),
    ],
)
def test_a_fault_in_words(fault: str, words: str) -> None:
    assert issue._fault(parse(fault)) == words


def test_every_finding_about_effects_has_a_meaning() -> None:
    assert {name for name in NAMES if not name.endswith(".unreadable")} <= issue._MEANINGS.keys()
