"""Schedules: drawn from a seed, stored, read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from killtest.errors import UsageError
from killtest.plan import schedule
from killtest.plan.fault_text import parse
from killtest.plan.schedule import Rule, Schedule, draw, from_json, to_json

TIMED = Rule(group="start", trials=3, kills=10, trigger="after", between=(0.2, 1.0))


def test_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, second = draw(TIMED, "1"), draw(TIMED, "1")
    assert [to_json(one) for one in first] == [to_json(one) for one in second]
    assert [one.faults for one in first] != [one.faults for one in draw(TIMED, "2")]


def test_drawn_offsets_are_pinned() -> None:
    # A change of the drawing code would silently give every campaign other schedules.
    assert draw(TIMED, "1")[0].faults[:3] == ("after:0.239 KILL", "after:0.493 KILL", "after:0.988 KILL")


def test_trials_of_a_group_differ() -> None:
    one, two, three = draw(TIMED, "1")
    assert len({one.faults, two.faults, three.faults}) == 3
    assert [one.name, three.name] == ["start-1", "start-3"]


@given(st.integers(), st.integers(1, 50), st.integers(0, 100))
def test_request_numbers_lie_in_the_range_and_can_be_read(seed: int, low: int, span: int) -> None:
    rule = Rule(group="g", kills=5, trigger="request", between=(low, low + span), signals=("INT", "KILL"))
    (drawn,) = draw(rule, str(seed))
    numbers = [parse(text).trigger.n for text in drawn.faults]
    assert all(low <= n <= low + span for n in numbers)
    assert [text.split()[1] for text in drawn.faults] == ["INT", "KILL", "INT", "KILL", "INT"]


def test_drawn_signals_come_from_the_list() -> None:
    rule = Rule(group="g", kills=40, signals=("KILL", "INT", "TERM"), order="drawn")
    signals = [text.split()[1] for text in draw(rule, "1")[0].faults]
    assert set(signals) == {"KILL", "INT", "TERM"}
    assert signals[:6] != ["KILL", "INT", "TERM"] * 2


def test_stored_schedule_is_read_back(tmp_path: Path) -> None:
    stored = tmp_path / "schedule.json"
    stored.write_bytes(to_json(draw(TIMED, "1")[0]))
    assert schedule.read(stored) == draw(TIMED, "1")[0]


def test_schedule_of_another_schema_is_refused() -> None:
    data = to_json(Schedule("s")).replace(b'"schema": 1', b'"schema": 99')
    with pytest.raises(UsageError, match=r"x\.json: schedule of schema 99, this killtest reads 1"):
        from_json(data, "x.json")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"schema": 1}',
        b'{"schema":1,"name":"x","faults":["nonsense"]}',
        b'{"schema":1,"name":"../x"}',
    ],
)
def test_no_schedule_is_said_plainly(data: bytes) -> None:
    with pytest.raises(UsageError):
        from_json(data, "x.json")


def test_each_takes_every_number_of_the_range_once() -> None:
    rule = Rule(group="held", each=True, trigger="response", between=(3, 6), signals=("INT",))
    drawn = draw(rule, "1")
    assert [one.faults for one in drawn] == [(f"response:{n} INT",) for n in (3, 4, 5, 6)]
    assert [(one.name, one.group, one.seed) for one in drawn][::3] == [("held-3", "held", ""), ("held-6", "held", "")]
    assert draw(rule, "2") == drawn


def test_each_comes_behind_the_faults_of_its_group() -> None:
    rule = Rule(group="behind", each=True, between=(1, 2), faults=("request:10 INT",))
    assert [one.faults for one in draw(rule, "1")] == [
        ("request:10 INT", "request:1 KILL"),
        ("request:10 INT", "request:2 KILL"),
    ]
    with pytest.raises(ValueError, match="no request numbers"):
        Rule(group="behind", each=True, between=(0, 2), faults=("request:10 INT",))


@pytest.mark.parametrize(
    "fields",
    [{"trigger": "after"}, {"trials": 2}, {"kills": 2}, {"signals": ("KILL", "INT")}],
)
def test_each_with_what_it_cannot_mean_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="each"):
        Rule(group="g", each=True, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"signals": ("KLL",)},
        {"signals": ()},
        {"trials": 0},
        {"kills": 0},
        {"between": (5, 1)},
        {"between": (0, 5)},
        {"between": (1.5, 5)},
    ],
)
def test_rule_that_cannot_be_drawn_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"signals|trials|between"):
        Rule(group="g", **fields)  # type: ignore[arg-type]


def test_actions_stand_behind_the_drawn_triggers_in_ascending_order() -> None:
    rule = Rule(
        "reloads", kills=6, between=(1, 500), actions=("reload:touch instance=1", "reload:whitespace instance=1")
    )
    (schedule,) = draw(rule, "seed")
    faults = schedule.parsed()
    assert [fault.steps[0].signal for fault in faults] == ["touch", "whitespace"] * 3
    assert {fault.instance for fault in faults} == {1}
    numbers = [fault.trigger.n for fault in faults]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 1


def test_an_action_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown action"):
        draw(Rule("reloads", actions=("reload:burn",)), "seed")
