"""What a report says about what was modelled, and the table of what a site's misbehaviour costs."""

from __future__ import annotations

import pytest
from killtest.plan.fault_text import parse
from killtest.report.misbehaviour import has_misbehaviour, misbehaviour_table
from killtest.report.modelled import HOW, WORDS, counts, kind_of, modelled
from ledger_lines import control, failed, fault, trial


def test_both_languages_have_the_same_keys_and_places() -> None:
    english, chinese = WORDS["en"], WORDS["zh"]
    assert list(english) == list(chinese)
    assert all(english[key].count("{") == chinese[key].count("{") for key in english)


@pytest.mark.parametrize(
    ("planned", "kind"),
    [
        ("request:25 KILL", "kill"),
        ("2/request:25 bump:/product/6, KILL", "kill"),
        ("first+0.5 TERM+KILL@10", "kill"),
        ("request:/product/7 STOP+CONT@2", "pause"),
        ("request:3 bump:/product/6", "bump"),
        ("request:3 reload:change", "reload"),
        ("request:3 service:valkey:KILL", "service"),
        ("status:/product/6=503*2 retry_after=1", "misbehaviour"),
        ("request:3 latency:/product/*=0.1..0.8", "misbehaviour"),
    ],
)
def test_each_fault_has_one_kind(planned: str, kind: str) -> None:
    assert kind_of(parse(planned).text) == kind


@pytest.mark.parametrize("kind", [kind for kind, how in HOW.items() if not how.startswith("killtest")])
def test_what_a_report_tells_to_try_is_a_fault_of_that_kind(kind: str) -> None:
    assert kind_of(parse(HOW[kind]).text) == kind


def test_only_what_struck_is_counted_and_the_rest_is_named_with_a_way_to_try_it() -> None:
    lines = [control(), trial(faults=[fault(), fault("not_reached"), fault(planned="request:3 bump:/product/6")])]
    assert counts(lines) == {"kill": 1, "bump": 1}
    struck, absent, never = modelled(lines, "en")
    assert struck == "Struck here: kills 1, pages that changed 1."
    assert "power cuts (`killtest explore --power`)" in absent
    assert "(`request:25 KILL`)" not in absent
    assert never == WORDS["en"]["never_modelled"]
    assert modelled([control()], "zh")[0] == "本页实际发生的故障：无。"


def misbehaved(subject: str, requests: int, wall_s: float, **changes: object) -> dict[str, object]:
    made = failed if "data" in changes else trial
    schedule = {"faults": ["status:/product/6=503*2"]}
    time = {"wall_s": wall_s}
    return made(subject, 1, "503", schedule=schedule, traffic={"requests": requests}, time=time, **changes)


def test_the_table_says_what_it_costs_and_what_broke() -> None:
    data = {"lost": {"count": 2, "keys": {}}, "duplicated": {"count": 0, "keys": {}}}
    lines = [
        *[control(name, 1) | {"time": {"wall_s": 3.0}} for name in ("naive", "idempotent")],
        misbehaved("idempotent", 528, 4.5),
        misbehaved("naive", 531, 3.1, data=data, self_deaths=3),
        trial("naive"),
    ]
    table = misbehaviour_table(lines, "en")
    assert table.headings == ("fault, or group of faults", "idempotent", "naive")
    assert table.rows == (("status:/product/6=503*2", "+2, +1.5 s", "2 lost, died 3×, +5"),)
    assert misbehaviour_table(lines[:3], "zh").rows[0][2] == "未运行"


def test_kills_alone_make_no_table() -> None:
    assert not has_misbehaviour([control(), trial()])
    mixed = ["status:/product/6=503", "request:3 KILL"]
    assert has_misbehaviour([trial(schedule={"faults": mixed})])
    assert not has_misbehaviour([trial(schedule={"faults": [*mixed, "request:5 STOP+CONT@1"]})])
