"""The promises of several workers, read out of trial lines."""

from typing import Any

import pytest
import worker_claims
from ledger_lines import trial

KILL = {"planned": "request:9 KILL scope=owner", "status": "struck", "scope": "owner", "incarnation": 0,
        "struck_s": 2.0, "in_flight": ["/product/7", "/product/8"]}  # fmt: skip
LAPSE = {"first": "gone", "fault": KILL["planned"], "began_s": 1.9, "after_s": 3.0}


def claims(*leases: dict[str, Any], faults: tuple[dict[str, Any], ...] = (KILL,), **traffic: Any) -> Any:
    line = trial("idempotent", variant="processes4", faults=list(faults))
    line["data"] |= {"extra_rows": 0}
    line["traffic"] |= {"requests": 526, "minimum": 525, "lapsed": {"count": len(leases), "leases": list(leases)}}
    line["traffic"] |= traffic
    for one in line["incarnations"]:
        one.setdefault("again", False)
        one.setdefault("number", 0)
        one.setdefault("started_s", 0.0)
    return worker_claims.claims(line)


def test_a_killed_worker_may_cost_its_page_and_no_more() -> None:
    assert claims(LAPSE).are_kept
    assert (claims(LAPSE).at_most, claims(LAPSE, requests=527).are_kept) == (526, False)


def test_a_killed_server_may_cost_what_was_in_flight() -> None:
    server = KILL | {"planned": "request:9 service:postgres:KILL", "scope": None}
    assert claims(faults=(server,), requests=527).are_kept
    assert not claims(faults=(server | {"in_flight": []},)).are_kept


def test_all_of_them_may_cost_a_page_each_and_a_slow_page_none() -> None:
    assert claims(faults=(KILL | {"scope": "tree"},)).at_most == 529
    assert claims(faults=(KILL | {"planned": "latency:/product/6=8", "scope": None},)).at_most == 525


@pytest.mark.parametrize("changes", [{"fault": None}, {"fault": None, "first": "answered", "began_s": 2.1}])
def test_a_lapse_that_no_signal_explains_breaks_the_promise(changes: dict[str, Any]) -> None:
    assert not claims(LAPSE | changes).are_kept


def test_a_kill_behind_the_answer_explains_that_the_page_was_fetched_again() -> None:
    assert claims(LAPSE | {"fault": None, "first": "answered"}).are_kept


def test_two_at_a_time_without_a_lapse_break_the_promise() -> None:
    broken = claims(max_concurrent=2)
    text, code = worker_claims.report([claims(LAPSE), broken])
    assert code == 1
    assert text.endswith("1 of 2 trials kept every promise, but not idempotent:processes4 start-KILL-1\n")
    assert worker_claims.report([claims(LAPSE)])[1] == 0


def test_a_server_that_was_away_explains_it_and_a_slow_page_does_not() -> None:
    away = LAPSE | {"fault": None, "first": "answered"}
    server = KILL | {"planned": "request:9 service:postgres:KILL", "scope": None}
    slow = KILL | {"planned": "latency:/product/7=8", "scope": None}
    assert [claims(away, faults=(one,), requests=525).are_kept for one in (server, slow)] == [True, False]
