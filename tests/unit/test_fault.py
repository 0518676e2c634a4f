"""Faults as text."""

import pytest
from killtest.errors import UsageError
from killtest.plan.fault import Step, parse


@pytest.mark.parametrize(
    "text",
    [
        "request:25 KILL",
        "request:/product/7 KILL",
        "request:/product/7#2 INT",
        "response:25 TERM",
        "after:0.734 KILL",
        "first+0.5 QUIT",
        "2/request:25 KILL",
        "request:1 TERM+KILL@10",
        "request:1 INT+INT@0.2 scope=pid",
        "request:1 KILL scope=group",
        "request:25 KILL scope=owner",
        "mark:committed KILL",
        "mark:committed#3 STOP scope=owner",
        "1/rows:100 KILL",
        "request:3 STOP+CONT@2",
        "response:3 CONT",
        "request:/product/6 bump:/product/6",
        "request:/product/6 bump:/product/6, bump:/view/7, KILL scope=pid",
    ],
)
def test_text_and_fault_are_inverse(text: str) -> None:
    assert parse(text).text == text


def test_default_scope_is_what_happens_in_life() -> None:
    assert parse("request:1 KILL").scope == "tree"
    assert parse("request:1 INT").scope == "group"
    assert parse("request:1 TERM").scope == "pid"


def test_sequence_keeps_the_delays() -> None:
    assert parse("request:1 TERM+KILL@10").steps == (Step("TERM"), Step("KILL", 10.0))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("KILL", "wants TRIGGER ACTION"),
        ("request:0 KILL", "unknown trigger"),
        ("requst:5 KILL", 'unknown trigger "requst:5"'),
        ("request:5 KLL", 'unknown action "KLL"'),
        ("request:5 KILL scope=all", '"scope=all" is not understood'),
        ("request:5 TERM+KILL", "wants a delay in seconds"),
        ("syscall:fsync#3 KILL", '"syscall" is not built yet'),
        ("request:5 KILL+TERM@1", "nothing can follow KILL"),
        ("request:5 KILL scope=pid scope=tree", "one scope at the most"),
        ("after:-1 KILL", "unknown trigger"),
        ("first+x KILL", "unknown trigger"),
        ("rows:0 KILL", "unknown trigger"),
        ("mark: KILL", "unknown trigger"),
        ("after:1 KILL scope=owner", "scope=owner is whose request or mark it is"),
        ("rows:5 KILL scope=owner", "scope=owner is whose request or mark it is"),
        ("request:5 CONT scope=pid", "takes no scope"),
        ("request:5 bump:/product/1 scope=pid", "takes no scope"),
        ("request:5 KILL, bump:/product/1", "bumps stand first"),
        ("request:5 bump:product", "unknown action"),
        ("request:5 KILL, TERM", "bumps stand first"),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert complaint in str(caught.value)
    assert text in str(caught.value)
