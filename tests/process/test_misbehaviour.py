"""The site's misbehaviour as faults of a trial, on real processes."""

from pathlib import Path

import pytest
from killtest.conduct.history import read
from killtest.judge.traffic import pages
from killtest.plan import subject
from msgspec.structs import replace
from subjects import crawler
from trials import run

# A crawler without retries, and one that asks again after any failure.
STUBBORN = """
import time, http.client
once = get
def get(path):
    for _ in range(9):
        try:
            return once(path)
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)
    raise SystemExit(3)
"""


def told(tmp_path: Path, event: str) -> list[dict[str, object]]:
    return [entry for entry in read(tmp_path / "trial" / "history.jsonl") if entry["event"] == event]


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        ("latency:/product/*=0.01..0.1", 1),
        ("latency:/product/3=0.5*1", 1),
        ("status:/product/3=503*2 retry_after=1", 3),
        ("status:/product/3=429*1", 2),
        ("status:/product/3=500*3", 4),
        ("reset:/product/3=start*1", 2),
        ("reset:/product/3=100*1", 2),
        ("truncate:/product/3=100*1", 2),
        ("slow:/product/3=5000", 1),
        ("redirect:/product/3=/product/3*1", 2),
        ("redirect:/product/3=/product/3*29", 30),
    ],
)
def test_idempotent_survives_each_kind(tmp_path: Path, fault: str, asked: int) -> None:
    who = subject.find("idempotent")
    who = replace(who, env=who.env | {"RETRY_SECONDS": "0.02"})
    evidence, verdict = run(who, fault, tmp_path=tmp_path)
    assert (verdict.outcome, verdict.data and verdict.data.distinct) == ("PASS", 6)
    record = evidence.course.faults[0]
    assert (record.planned, record.status, record.window) == (fault, "struck", "waiting")
    paths = [request.path for request in pages(evidence.requests)]
    assert (paths.count("/product/3"), len(paths)) == (asked, 7 + asked)
    assert told(tmp_path, "misbehaves")[0]["planned"] == fault
    assert len(told(tmp_path, "misbehaved")) == 1


def test_idempotent_does_not_take_another_page_for_the_one_it_asked_for(tmp_path: Path) -> None:
    evidence, verdict = run(subject.find("idempotent"), "redirect:/product/3=/product/4*1", tmp_path=tmp_path)
    assert (verdict.outcome, verdict.data and verdict.data.distinct) == ("PASS", 6)
    assert [request.path for request in pages(evidence.requests)].count("/product/3") == 2


def test_naive_dies_of_one_error_page_and_stores_twice(tmp_path: Path) -> None:
    evidence, verdict = run(subject.find("naive"), "status:/product/3=503*1", tmp_path=tmp_path)
    assert evidence.course.self_deaths == 1
    assert (verdict.outcome, verdict.cause) == ("FAIL", "faults")
    assert verdict.data is not None
    assert set(verdict.data.duplicated) == {"SKU-00001", "SKU-00002"}


def test_who_believes_a_redirect_loses_the_page_behind_it(tmp_path: Path) -> None:
    _, verdict = run(crawler(tmp_path), "redirect:/product/3=/product/4*1", tmp_path=tmp_path)
    assert verdict.data is not None
    assert verdict.data.lost == {"SKU-00003": "broken"}


def test_a_triggered_misbehaviour_begins_with_the_request_that_is_held_and_lasts(tmp_path: Path) -> None:
    evidence, verdict = run(
        crawler(tmp_path, STUBBORN), "request:/product/3 status:/product/*=503*1", tmp_path=tmp_path
    )
    asked = [request.path for request in pages(evidence.requests)]
    assert [asked.count(f"/product/{n}") for n in range(1, 7)] == [1, 1, 2, 2, 2, 2]
    assert (verdict.outcome, evidence.course.faults[0].status) == ("PASS", "struck")
    assert told(tmp_path, "misbehaves")[0]["incarnation"] == 0


def test_it_goes_on_in_the_next_incarnation_and_a_kill_beside_it_counts_by_itself(tmp_path: Path) -> None:
    faults = ("request:/product/3 KILL", "status:/product/5=503*1", "request:/list/0 KILL")
    evidence, _ = run(crawler(tmp_path, STUBBORN), *faults, tmp_path=tmp_path)
    records = evidence.course.faults
    assert [record.planned for record in records] == list(faults)
    assert [(record.status, record.incarnation) for record in records] == [("struck", 0), ("struck", 2), ("struck", 1)]


def test_what_nobody_met_was_not_reached(tmp_path: Path) -> None:
    evidence, verdict = run(crawler(tmp_path), "status:/robots.txt=503", tmp_path=tmp_path)
    assert evidence.course.faults[0].status == "not_reached"
    assert (verdict.outcome, verdict.cause) == ("UNKNOWN", "harness")


def test_a_page_that_never_answers_well_is_a_finding(tmp_path: Path) -> None:
    evidence, verdict = run(crawler(tmp_path, STUBBORN), "reset:/list/*=start", tmp_path=tmp_path)
    assert (evidence.course.ending, verdict.outcome, verdict.cause) == ("crash_loop", "FAIL", "faults")


def test_undisturbed_starts_see_a_site_that_behaves(tmp_path: Path) -> None:
    again, _ = run(crawler(tmp_path), "latency:/product/3=0.05", tmp_path=tmp_path, again=1)
    met = [request for request in again.requests if request.path == "/product/3"]
    assert len(met) == 2
    lines = (tmp_path / "trial" / "site.jsonl").read_text("utf-8").splitlines()
    assert sum("latency:" in line for line in lines) == 1
