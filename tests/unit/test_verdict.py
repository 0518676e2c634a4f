"""The verdict: what makes a FAIL, whom it is about, and what is UNKNOWN."""

import pytest
from evidence_builder import CLEAN, crawl, evidence, incarnation, struck
from killtest.judge.evidence import FaultRecord
from killtest.judge.verdict import Control, judge, unknown, worst
from killtest.process.launcher import Face
from killtest.store.rows import Row

WITHOUT_3 = [one for one in CLEAN if one.key != "SKU-00003"]


def test_false_done_needs_a_finished_ending_and_missing_rows() -> None:
    assert judge(evidence(WITHOUT_3)).false_done is True
    assert judge(evidence(WITHOUT_3, requests=[])).false_done is True
    assert judge(evidence(CLEAN)).false_done is False
    ended = (incarnation(exit=-9, ended_by="fault"), incarnation(1, ended_by="fault", instance=1))
    assert judge(evidence(CLEAN, WITHOUT_3, incarnations=ended)).false_done is False, "faults ended it for good"
    for ending in ("crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"):
        assert judge(evidence(WITHOUT_3, ending=ending)).false_done is False


@pytest.mark.parametrize("ending", ["crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"])
def test_ending_alone_is_a_finding(ending: str) -> None:
    assert judge(evidence(CLEAN, ending=ending)).outcome == "FAIL"


@pytest.mark.parametrize("left", [{"orphans": (Face(9, "sleep"),)}, {"zombies": (Face(9, "sleep"),)}, {"ports": (80,)}])
def test_what_processes_leave_behind_is_a_finding(left: dict[str, object]) -> None:
    assert judge(evidence(CLEAN, **left)).outcome == "FAIL"  # type: ignore[arg-type]


def test_no_struck_fault_is_unknown_unless_the_data_are_bad() -> None:
    unreached = (FaultRecord("request:900 KILL", "not_reached"),)
    verdict = judge(evidence(CLEAN, faults=unreached))
    assert (verdict.outcome, verdict.cause) == ("UNKNOWN", "harness")
    assert verdict.problem == "none of the planned faults struck: the subject never got to any of them"
    failed = judge(evidence(WITHOUT_3, faults=unreached))
    assert (failed.outcome, failed.cause, failed.problem) == ("FAIL", "control", None)


@pytest.mark.parametrize("status", ["struck", "before_first_request", "escalated"])
def test_one_struck_fault_is_enough(status: str) -> None:
    faults = (struck(status=status), FaultRecord("request:900 KILL", "not_reached"))
    verdict = judge(evidence(CLEAN, CLEAN, faults=faults))
    assert (verdict.outcome, verdict.cause, verdict.problem) == ("PASS", None, None)


def test_blame_goes_to_the_control_when_it_fails_too() -> None:
    told = evidence(CLEAN, WITHOUT_3, faults=(struck(),))
    assert judge(told).cause == "faults"
    assert judge(told, Control("PASS", 6)).cause == "faults"
    assert judge(told, Control("UNKNOWN", None)).cause == "faults"
    assert judge(told, Control("FAIL", 6)).cause == "control"
    assert judge(evidence(WITHOUT_3, is_control=True)).cause == "control"
    assert judge(evidence(WITHOUT_3, is_control=True, faults=(struck(),))).cause == "control"


def test_subject_whose_control_fails_fails_with_it_although_the_kills_did_no_harm() -> None:
    verdict = judge(evidence(CLEAN, CLEAN, faults=(struck(),)), Control("FAIL", 6))
    assert (verdict.outcome, verdict.cause) == ("FAIL", "control")


def test_baseline_comes_from_the_control() -> None:
    traffic = judge(evidence(CLEAN), Control("PASS", 7)).traffic
    assert traffic is not None
    assert (traffic.minimum, traffic.baseline, traffic.requests, traffic.per_row) == (6, 7, 6, 1.2)
    alone = judge(evidence(CLEAN)).traffic
    assert alone is not None
    assert alone.baseline is None


def test_trial_without_an_incarnation_is_our_failure() -> None:
    for told in (evidence(), evidence(CLEAN, incarnations=(incarnation(is_again=True),))):
        verdict = judge(told)
        assert (verdict.outcome, verdict.cause, verdict.problem) == ("UNKNOWN", "harness", "no incarnation was started")


def test_unknown_says_why_and_holds_no_findings() -> None:
    verdict = unknown("the site died")
    assert (verdict.outcome, verdict.cause, verdict.problem) == ("UNKNOWN", "harness", "the site died")
    assert (verdict.data, verdict.traffic, verdict.false_done, verdict.not_idempotent) == (None, None, False, None)
    assert verdict.ending_detail is None


def test_requests_of_again_starts_do_not_count() -> None:
    told = evidence(CLEAN, CLEAN, again=1, requests=[*crawl(), *crawl(incarnation=1, first_seq=20)])
    traffic = judge(told).traffic
    assert traffic is not None
    assert (traffic.requests, traffic.overlap) == (6, 0)


def test_worst_outcome_wins() -> None:
    assert worst(["PASS", "UNKNOWN", "FAIL"]) == "FAIL"
    assert worst(["PASS", "UNKNOWN"]) == "UNKNOWN"
    assert worst(["PASS"]) == "PASS"


@pytest.mark.parametrize(("last", "changes"), [(CLEAN, False), (WITHOUT_3, True)])
def test_again_starts_of_copies_are_compared_behind_the_last_of_them(last: list[Row], changes: bool) -> None:
    copies = tuple(incarnation(number, number >= 2, instance=number % 2) for number in range(4))
    taken = evidence(CLEAN, CLEAN, WITHOUT_3, last, again=2, is_control=True, incarnations=copies)
    assert judge(taken).not_idempotent is changes
