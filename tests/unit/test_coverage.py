"""Where the faults struck: what the site's log and the snapshot right after say."""

from typing import Any

import pytest
from evidence_builder import CLEAN, crawl, evidence, incarnation, request, row, struck, truth
from killtest.judge.coverage import located, seen_in_the_log
from killtest.judge.evidence import FaultRecord, Request
from killtest.judge.truth import Truth
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace

# Of the crawl, whose request N arrives at second N and is answered 1 ms later, products 1 to 3 were answered.
MOMENT_S = 4.5
KILLED = incarnation(ended_s=MOMENT_S, exit=-9, ended_by="fault")
KILL = replace(struck(), t_s=MOMENT_S, window=None, in_flight=())
NONE_OPEN = crawl()


def window(
    rows: list[Row] | Snapshot,
    requests: list[Request] = NONE_OPEN,
    shop: Truth | None = None,
    fault: FaultRecord = KILL,
    **ended: Any,
) -> str | None:
    """The window of a kill at MOMENT_S, with that store after it."""
    told = evidence(rows, faults=(fault,), incarnations=(replace(KILLED, **ended),))
    return located(told.course, shop or truth(), requests).faults[0].window


# The log


def test_in_flight_is_what_was_open_at_the_moment_of_the_strike() -> None:
    asked = [
        request(1, "/list/0"),
        request(2, "/product/1", ended_s=9.0),
        request(3, "/product/2", ended_s=None, outcome="open"),
        request(4, "/product/4", ended_s=4.0),
        request(5, "/product/3", ended_s=9.0),
    ]
    (told,) = seen_in_the_log([replace(KILL, t_s=4.0)], asked)
    assert (told.in_flight, told.window, told.since_first_request_s) == (("/product/1", "/product/2"), "waiting", 3.0)


def test_request_that_arrived_at_the_very_moment_was_in_flight() -> None:
    (told,) = seen_in_the_log([replace(KILL, t_s=1.0)], [request(1, "/list/0")])
    assert (told.in_flight, told.window, told.since_first_request_s) == (("/list/0",), "waiting", 0.0)


def test_start_up_and_idle_are_told_by_the_log() -> None:
    asked = [request(1, "/list/0", incarnation=1), request(5, "/list/0"), request(3, "/robots.txt")]
    early, idle = seen_in_the_log([replace(KILL, t_s=2.0), replace(KILL, t_s=6.0)], asked)
    assert (early.status, early.window, early.since_first_request_s) == ("before_first_request", "start-up", None)
    assert (idle.status, idle.window, idle.since_first_request_s) == ("struck", "idle", 3.0)
    # The log knows better than what the harness had heard by then.
    (late,) = seen_in_the_log([replace(KILL, t_s=6.0, status="before_first_request")], asked)
    assert late.status == "struck"


def test_requests_of_an_earlier_incarnation_do_not_end_the_start_up_of_a_later_one() -> None:
    asked = [request(1, "/list/0"), request(5, "/list/0", incarnation=1)]
    early, later = seen_in_the_log([replace(KILL, t_s=t, incarnation=1) for t in (4.0, 6.0)], asked)
    assert (early.window, later.since_first_request_s) == ("start-up", 1.0)


def test_escalated_stays_escalated_and_what_did_not_strike_is_left_alone() -> None:
    escalated, unreached = replace(KILL, status="escalated"), FaultRecord("after:9 KILL", "not_reached")
    told = seen_in_the_log([unreached, escalated], crawl())
    assert told[0] == unreached
    assert (told[1].status, told[1].window) == ("escalated", "idle")
    assert seen_in_the_log([replace(escalated, t_s=0.5)], crawl())[0].status == "escalated"


# The store


def test_kill_in_the_middle_of_a_write_is_told_before_everything_else() -> None:
    assert window(Snapshot(0, (), in_commit=True)) == "commit"
    assert window(Snapshot(0, (), in_commit=True), crawl(first_seq=9)) == "start-up"
    assert window(Snapshot(0, error="torn", in_commit=True)) == "commit"


def test_kill_between_an_answer_and_its_row() -> None:
    assert window(CLEAN[:2]) == "between"
    assert window(CLEAN[:3]) == "idle"
    assert window([*CLEAN[:2], row(4)]) == "between"
    assert window(Snapshot(0, exists=False)) == "between"


def test_between_is_told_before_waiting() -> None:
    asked = [*crawl()[:4], request(4, "/product/4", ended_s=9.0, outcome="held")]
    assert window(CLEAN[:2], asked) == "between"
    assert window(CLEAN[:3], asked) == "waiting"


@pytest.mark.parametrize("outcome", ["broken", "held", "open"])
def test_answer_that_did_not_arrive_leaves_nothing_to_store(outcome: str) -> None:
    asked = [*crawl()[:3], request(4, "/product/3", outcome=outcome)]
    assert window(CLEAN[:2], asked) == "idle"


def test_error_page_and_answer_after_the_kill_leave_nothing_to_store() -> None:
    assert window(CLEAN[:2], [*crawl()[:3], request(4, "/product/3", status=503)]) == "idle"
    assert window(CLEAN[:2], [*crawl()[:3], request(4, "/product/3", ended_s=9.0, sent_s=4.6)]) == "waiting"
    assert window(CLEAN[:2], [*crawl()[:3], request(4, "/product/3", ended_s=9.0, sent_s=4.5)]) == "between"


def test_answer_to_an_earlier_incarnation_still_waits_for_its_row() -> None:
    asked = [request(1, "/product/3"), request(4, "/list/0", incarnation=1)]
    told = evidence(
        [],
        CLEAN[:2],
        faults=(replace(KILL, incarnation=1),),
        incarnations=(incarnation(exit=1), replace(KILLED, number=1)),
    )
    assert located(told.course, truth(), asked).faults[0].window == "between"


def test_product_of_two_pages_waits_for_its_row_once_both_were_answered() -> None:
    shop = truth(pages=2)
    one = [request(1, "/product/1"), request(2, "/product/2")]
    assert window([], one, shop) == "idle"
    assert window([], [*one, request(3, "/view/1")], shop) == "between"
    assert window([], [*one, request(4, "/view/1", ended_s=4.6)], shop) == "waiting"


def test_store_that_cannot_be_read_tells_nothing() -> None:
    assert window(Snapshot(0, error="locked")) == "idle"


@pytest.mark.parametrize("ended", [{"ended_by": "itself"}, {"ended_by": "limit"}, {"exit": -15}, {"exit": 0}])
def test_fault_that_did_not_kill_its_incarnation_is_placed_by_the_log_alone(ended: dict[str, Any]) -> None:
    assert window(Snapshot(0, in_commit=True), **ended) == "idle"


def test_the_last_fault_of_an_incarnation_ended_it() -> None:
    faults = (replace(KILL, planned="request:2 STOP", t_s=2.5), KILL, FaultRecord("after:9 KILL", "not_reached"))
    told = evidence([], faults=faults, incarnations=(KILLED,))
    assert [one.window for one in located(told.course, truth(), crawl()).faults] == ["idle", "between", None]


@pytest.mark.parametrize("after", [False, True])
def test_what_the_site_did_wrong_is_not_what_ended_an_incarnation(after: bool) -> None:
    met = replace(KILL, planned="status:/product/2=503*1", t_s=3.0, scope=None)
    faults = (KILL, met) if after else (met, KILL)
    told = evidence([row(1), row(2)], faults=faults, incarnations=(KILLED,))
    placed = located(told.course, truth(), NONE_OPEN).faults
    assert {one.planned: one.window for one in placed} == {KILL.planned: "between", met.planned: "waiting"}


def test_each_kill_is_placed_by_the_snapshot_after_its_own_incarnation() -> None:
    ends = (KILLED, replace(KILLED, number=1, ended_s=5.5), incarnation(2))
    kills = (KILL, replace(KILL, incarnation=1, t_s=5.5))
    asked = [*crawl()[:4], request(5, "/product/4", incarnation=1)]
    told = evidence(CLEAN[:3], CLEAN[:3], CLEAN, faults=kills, incarnations=ends)
    assert [one.window for one in located(told.course, truth(), asked).faults] == ["idle", "between"]


def test_times_of_incarnations_count_from_the_start_of_the_trial() -> None:
    told = evidence(CLEAN[:2], faults=(KILL,), incarnations=(replace(KILLED, ended_s=1.5),), began_s=3.0)
    assert located(told.course, truth(), crawl()).faults[0].window == "between"
    early = evidence(CLEAN[:2], faults=(KILL,), incarnations=(replace(KILLED, ended_s=0.5),), began_s=3.0)
    assert located(early.course, truth(), crawl()).faults[0].window == "idle"


def test_unfinished_write_that_an_earlier_kill_left_is_no_commit_of_this_one() -> None:
    both = [replace(KILL, t_s=t, incarnation=n) for n, t in enumerate((MOMENT_S, 8.5))]
    asked = [*crawl(), request(8, "/list/0", incarnation=1)]
    ended = [replace(KILLED, number=n, started_s=n * 5.0, ended_s=s) for n, s in enumerate((MOMENT_S, 8.5))]

    def windows(*traces: str) -> list[str | None]:
        taken = [Snapshot(n, tuple(CLEAN), in_commit=True, trace=trace) for n, trace in enumerate(traces)]
        told = evidence(*taken, faults=tuple(both), incarnations=tuple(ended))
        return [fault.window for fault in located(told.course, truth(), asked).faults]

    assert windows("same", "same") == ["commit", "idle"]
    assert windows("then", "now") == ["commit", "commit"]
    assert windows("now", "then") == ["commit", "commit"]
    assert windows("", "") == ["commit", "commit"]  # evidence of before there were traces


def test_window_of_a_sequence_is_that_of_the_kill_at_its_end() -> None:
    late = replace(KILL, t_s=0.5, last_s=MOMENT_S)
    assert window(CLEAN, [request(1, "/list/0", ended_s=1.5)], fault=late) == "idle"
    assert window(CLEAN, [request(1, "/list/0", ended_s=9.0)], fault=late) == "waiting"
    # A polite end: the second signal found nobody, or was handled, or was no SIGKILL.
    assert window(CLEAN, [request(1, "/list/0", ended_s=1.5)], fault=late, exit=-15) == "start-up"
    assert window(CLEAN, [request(1, "/list/0", ended_s=1.5)], fault=late, exit=0) == "start-up"


def test_left_over_is_told_by_the_snapshot_right_before() -> None:
    moments = (4.5, 8.5, 12.5)
    kills = tuple(replace(KILL, t_s=t, incarnation=n) for n, t in enumerate(moments))
    asked = [*crawl(), request(8, "/list/0", incarnation=1), request(12, "/list/0", incarnation=2)]
    ended = tuple(replace(KILLED, number=n, started_s=n * 4.0, ended_s=s) for n, s in enumerate(moments))

    def last(*facts: tuple[bool, str]) -> str | None:
        taken = [Snapshot(n, tuple(CLEAN), in_commit=torn, trace=trace) for n, (torn, trace) in enumerate(facts)]
        told = evidence(*taken, faults=kills, incarnations=ended)
        return located(told.course, truth(), asked).faults[2].window

    assert last((False, "a"), (True, "b"), (True, "b")) == "idle"
    assert last((True, "b"), (False, "b"), (True, "b")) == "commit"
    assert last((True, "b"), (True, "c"), (True, "b")) == "commit"
