"""Each field of an expectation: a deviation is named, in words; what was not said is not compared."""

from typing import Any

import ledger_lines
import msgspec
import pytest
from killtest.zoo.difference import Difference, differences, expected_words, observed_words
from killtest.zoo.expectation import Expectation, folded, unfolded

PASS = Expectation("PASS")
KEY = {"count": 1, "keys": {"SKU-00007": "held"}}


def line(**changes: Any) -> dict[str, Any]:
    return ledger_lines.trial("animal", **changes)


def named(said: Expectation, trial: dict[str, Any], control: dict[str, Any] | None = None) -> list[Difference]:
    return differences(said, trial, control or ledger_lines.control("animal"))


def test_what_agrees_has_no_difference() -> None:
    assert named(PASS, line()) == []
    assert (
        named(Expectation("FAIL", lost=("SKU-00007",)), line(outcome="FAIL", cause="faults", data={"lost": KEY})) == []
    )


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"outcome": "FAIL"}, ("outcome", "PASS", "FAIL")),
        ({"cause": "control"}, ("cause", "none", "control")),
        ({"ending": "hung"}, ("ending", "finished", "hung")),
        ({"data": {"lost": KEY}}, ("lost", "none", "SKU-00007")),
        ({"data": {"missed": KEY}}, ("missed", "none", "SKU-00007")),
        ({"data": {"corrupted": KEY}}, ("corrupted", "none", "SKU-00007")),
        ({"data": {"stale": KEY}}, ("stale", "none", "SKU-00007")),
        ({"data": {"unexpected": KEY}}, ("unexpected", "none", "SKU-00007")),
        ({"data": {"vanished": KEY}}, ("vanished", "none", "SKU-00007")),
        ({"data": {"set_back": KEY}}, ("set_back", "none", "SKU-00007")),
        ({"data": {"duplicated": {"count": 1, "keys": {"SKU-00007": 2}}}}, ("duplicated", "none", "SKU-00007 +2")),
        (
            {"effects": {"webhooks": {"twice": KEY, "never": {"count": 0, "keys": {}}, "deduplicated": 3}}},
            ("effects", "none", "webhooks twice SKU-00007"),
        ),
        ({"data": {"false_done": True}}, ("false_done", "no", "yes")),
        ({"processes": {"orphans": 2, "zombies": 0}}, ("orphans", "0", "2")),
        ({"processes": {"orphans": 0, "zombies": 1}}, ("zombies", "0", "1")),
        ({"processes": {"orphans": 0, "zombies": 0, "ports": [8001, 8002]}}, ("ports", "0", "2")),
        ({"self_deaths": 3}, ("self_deaths", "0", "3")),
        ({"faults": [ledger_lines.fault("escalated")]}, ("statuses", "struck", "escalated")),
    ],
)
def test_what_is_always_compared(changes: dict[str, Any], found: tuple[str, str, str]) -> None:
    assert named(PASS, line(**changes)) == [Difference(*found)]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"requests": 22}, ("requests", "22", "526")),
        ({"repeated": 0}, ("repeated", "0", "1")),
        ({"overlap": 2}, ("overlap", "2", "1")),
        ({"max_concurrent": 2}, ("max_concurrent", "2", "1")),
        ({"late": 1}, ("late", "1", "0")),
        ({"ending_detail": "/product/7"}, ("ending_detail", "/product/7", "none")),
        ({"windows": ("commit",)}, ("windows", "commit", "waiting")),
    ],
)
def test_what_is_compared_when_it_was_said(said: dict[str, Any], found: tuple[str, str, str]) -> None:
    assert named(Expectation("PASS", **said), line()) == [Difference(*found)]
    assert named(PASS, line()) == []


def test_the_control_is_compared() -> None:
    control = ledger_lines.control("animal", not_idempotent=True) | {"outcome": "FAIL"}
    assert [str(one) for one in named(PASS, line(), control)] == [
        "not_idempotent: expected no, found yes",
        "control: expected PASS, found FAIL",
    ]


def test_a_finding_that_did_not_come_is_named() -> None:
    said = Expectation("FAIL", lost=("SKU-00005..SKU-00007",), duplicated={"SKU-00001..SKU-00002": 1})
    assert [str(one) for one in named(said, line())] == [
        "outcome: expected FAIL, found PASS",
        "cause: expected faults, found none",
        "lost: expected SKU-00005..SKU-00007, found none",
        "duplicated: expected SKU-00001..SKU-00002 +1, found none",
    ]


def test_keys_that_the_ledger_cut_are_not_taken_for_all() -> None:
    lost = {"count": 21, "keys": {f"SKU-{n:05}": "held" for n in range(1, 21)}}
    said = Expectation("PASS", lost=("SKU-00001..SKU-00020",))
    (only,) = named(said, line(data={"lost": lost}))
    assert only.found == "SKU-00001..SKU-00020, and 1 more"


def test_a_trial_that_killtest_failed_says_why() -> None:
    trial = ledger_lines.unknown("animal") | {"problem": "the site died"}
    assert [one.field for one in named(PASS, trial)] == ["outcome", "cause", "problem"]
    assert "the site died" in str(named(PASS, trial)[-1])


def test_ranges_stand_for_their_keys_and_keys_for_ranges() -> None:
    assert unfolded("SKU-00009..SKU-00011") == ["SKU-00009", "SKU-00010", "SKU-00011"]
    assert unfolded("line 7") == ["line 7"]
    assert folded(["SKU-00001", "SKU-00009", "SKU-00010"]) == "SKU-00001, SKU-00009..SKU-00010"


@pytest.mark.parametrize("text", ["SKU-00009..SKU-00002", "SKU-00001..ART-00002", "SKU-1..SKU-00002", "SKU-00001.."])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no range"):
        Expectation("FAIL", lost=(text,))
    with pytest.raises(msgspec.ValidationError, match="is no range"):
        msgspec.convert({"outcome": "FAIL", "duplicated": {text: 1}}, Expectation)


def test_verdicts_in_words_are_the_same_for_what_is_expected_and_what_came_out() -> None:
    said = Expectation("FAIL", ending="hung", lost=("SKU-00007",), orphans=1, statuses=("escalated",))
    trial = line(outcome="FAIL", cause="faults", ending="hung", data={"lost": KEY})
    trial |= {"processes": {"orphans": 1, "zombies": 0}, "faults": [ledger_lines.fault("escalated")]}
    words = "FAIL; hung; lost SKU-00007; orphans 1; faults escalated"
    assert expected_words(said, 1) == observed_words(trial, ledger_lines.control("animal")) == words
    assert expected_words(Expectation("PASS", requests=23), 1) == "PASS; requests 23"
    assert expected_words(Expectation("FAIL", cause="control"), 0) == "FAIL without any fault"


def test_effects_are_expected_by_the_name_of_the_finding_with_their_keys() -> None:
    two = {"count": 2, "keys": {"SKU-00007": "x", "SKU-00008": "x"}}
    trial = line(outcome="FAIL", cause="faults", effects={"files": {"missing": two}})
    said = Expectation("FAIL", effects={"files.missing": ("SKU-00007..SKU-00008",)})
    assert named(said, trial) == []
    assert observed_words(trial, ledger_lines.control("animal")) == "FAIL; files missing SKU-00007..SKU-00008"
    assert expected_words(said, 1) == observed_words(trial, ledger_lines.control("animal"))
    less = Expectation("FAIL", effects={"files.missing": ("SKU-00007",)})
    wanted = Difference("effects", "files missing SKU-00007", "files missing SKU-00007..SKU-00008")
    assert named(less, trial) == [wanted]


def test_a_finding_about_effects_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"effects: 'files.lost' is no finding; those are: files.missing, "):
        Expectation("FAIL", effects={"files.lost": ("SKU-00007",)})
