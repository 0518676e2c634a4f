"""What people read: the story's lines, the verdict, the ledger's line and the progress."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from effects_builder import clean
from evidence_builder import CLEAN, crawl, evidence, incarnation, request, row, struck, truth
from killtest.campaigns import trial_line
from killtest.campaigns.progress import Pace
from killtest.campaigns.story import Story, headline, verdict_lines
from killtest.judge import verdict
from killtest.judge.evidence import Evidence, FaultRecord
from killtest.plan import subject
from killtest.plan.campaign import Planned
from killtest.plan.schedule import Schedule
from killtest.process.launcher import Face

PLANNED = Planned(subject.find("naive"), Schedule("s", ("request:3 KILL",), "s"))


def line_of(told: Evidence, planned: Planned = PLANNED) -> dict[str, Any]:
    line = trial_line.to_line(planned, "demo", verdict.judge(told), told)
    line["evidence"] = f"trials/{planned.id}"
    line["reproduce"] = trial_line.reproduce(planned, "results/demo/campaign.toml", ["--site", "latency_ms=3"])
    return msgspec.json.decode(msgspec.json.encode(line))  # type: ignore[no-any-return]


def test_fail_says_what_where_evidence_and_how_to_reproduce() -> None:
    told = evidence(CLEAN, [one for one in CLEAN if one.key != "SKU-00003"], faults=(struck(),))
    text = "\n".join(verdict_lines(line_of(told), Path("results/demo")))
    assert "FAIL  naive  4 of 5 products in 4 rows; 1 lost; 1 vanished; said it was done" in text
    assert "request:3 KILL: struck incarnation 0 at 0.100 s (/product/2)" in text
    assert "lost: SKU-00003 (answered)" in text
    assert "evidence:  results/demo/trials/naive--s/" in text
    assert "reproduce: killtest run naive --site latency_ms=3 --fault 'request:3 KILL'" in text


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (evidence(CLEAN, ending="crash_loop"), "crash loop"),
        (evidence([*CLEAN, row(1)]), "5 of 5 products in 6 rows; 1 duplicated"),
        (evidence(CLEAN, [*CLEAN, *CLEAN], again=1, is_control=True), "running it again changed its rows"),
        (evidence(CLEAN, orphans=(Face(1, "sleep"),)), "1 orphan process left behind"),
        (evidence(CLEAN, zombies=(Face(1, "a"), Face(2, "b")), ports=(80,)), "2 zombie processes and 1 open port left"),
    ],
)
def test_headline_names_every_finding(told: Evidence, words: str) -> None:
    assert words in headline(line_of(told))


def test_why_a_trial_ended_early_is_told_where_it_is_known() -> None:
    hung = line_of(evidence(CLEAN, ending="hung", hung_on=("crawl.py waits for a lock", "worker waits for a pipe")))
    assert hung["ending_detail"] == "crawl.py waits for a lock; worker waits for a pipe"
    assert "      hung: crawl.py waits for a lock; worker waits for a pipe" in verdict_lines(hung, Path())
    loop = evidence(CLEAN, ending="crash_loop", incarnations=(incarnation(exit=1),))
    assert "      before every crash it had last requested: /product/5" in verdict_lines(line_of(loop), Path())
    refused = evidence([], ending="refused_start", requests=[], incarnations=(incarnation(exit=3),))
    assert "      refused start: exit code 3 before its first request" in verdict_lines(line_of(refused), Path())
    assert line_of(evidence(CLEAN, ending="hung"))["ending_detail"] is None


@pytest.mark.parametrize(
    ("window", "words"), [("between", "between an answer and its row"), ("commit", "in the middle")]
)
def test_kill_in_the_store_s_danger_windows_says_so(window: str, words: str) -> None:
    told = evidence(CLEAN, faults=(msgspec.structs.replace(struck(), window=window),))
    assert f"(/product/2; {words}" in "\n".join(verdict_lines(line_of(told), Path()))


def test_line_holds_stale_keys_and_open_ports() -> None:
    asked = [*crawl(), request(9, "/product/1", version=1)]
    line = line_of(evidence(CLEAN, requests=asked, shop=truth(versions=2), ports=(8000, 8001)))
    assert line["data"]["stale"]["keys"] == {"SKU-00001": "version 0 stored, version 1 served"}
    assert line["processes"] == {"orphans": 0, "zombies": 0, "ports": 2}
    assert "; 1 stale; " in headline(line)


def test_line_from_before_a_finding_was_invented_is_still_told() -> None:
    line = line_of(evidence([*CLEAN, row(1)]))
    del line["data"]["stale"], line["ending_detail"], line["processes"]["ports"]
    assert verdict_lines(line, Path())[0] == (
        "FAIL  naive  5 of 5 products in 6 rows; 1 duplicated; 1 extra rows; 6 requests, 0 repeated"
    )


def test_unknown_says_why_and_never_looks_like_a_pass() -> None:
    answer = verdict.unknown("the site ended with 1")
    line = trial_line.to_line(PLANNED, "demo", answer, None) | {"evidence": None, "reproduce": "killtest run naive"}
    assert headline(line) == "UNKNOWN  naive  the site ended with 1"
    assert verdict_lines(line, Path())[0] == headline(line)


def test_fault_that_was_not_reached_or_escalated_is_told() -> None:
    faults = (struck(status="escalated"), FaultRecord("after:9 KILL", "not_reached"))
    text = "\n".join(verdict_lines(line_of(evidence(CLEAN, faults=faults)), Path()))
    assert "then SIGKILL after the grace time" in text
    assert "after:9 KILL: not reached" in text


def test_many_faults_are_taken_from_the_stored_campaign() -> None:
    many = Planned(PLANNED.subject, Schedule("s-1", ("request:3 KILL",) * 4))
    words = trial_line.reproduce(many, "results/demo/campaign.toml", [])
    assert words == "killtest run naive --schedule 'results/demo/campaign.toml#s-1'"


def test_subject_without_manifest_is_reproduced_by_its_command() -> None:
    who = subject.from_command(["node", "crawl.js", "{site_url}"], "jsonl:out.jsonl", "sku", None)
    words = trial_line.reproduce(Planned(who, Schedule("s", ("request:3 KILL",))), "x", [])
    assert words == (
        "killtest run --store jsonl:out.jsonl --key sku --fault 'request:3 KILL' -- node crawl.js '{site_url}'"
    )


def test_long_lists_are_cut_with_their_count() -> None:
    assert trial_line.cut({str(i): "x" for i in range(50)}) == {"count": 50, "keys": {str(i): "x" for i in range(20)}}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"event": "clock", "moved_s": -3600.0}, "its clock is moved by -3600 s from the next start on"),
        ({"event": "calls_fail", "planned": "request:3 eio*1"}, "its calls fail from now on: request:3 eio*1"),
        ({"event": "call_failed", "call": "write", "path": "a"}, "write of a fails"),
        ({"event": "calls_failed", "calls": 4, "errno": "EIO"}, "4 calls have failed with EIO"),
        (
            {"event": "memory_limited", "size_bytes": 9, "by": "the kernel"},
            "its memory is limited to 9 bytes by the kernel",
        ),
        (
            {"event": "out_of_memory", "pid": 7, "resident_bytes": 9},
            "out of memory: process 7 is killed at 9 bytes",
        ),
    ],
)
def test_story_tells_what_the_machine_does(
    entry: dict[str, object], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Story().heard("x", entry | {"t_s": 1.0})
    assert capsys.readouterr().err == f"    1.000 s  {words}\n"


def test_pace_is_learned_per_subject() -> None:
    now_s = iter([0.0, 10.0, 10.0, 12.0])
    pace = Pace(lambda: next(now_s))
    pace.plan(["slow", "quick", "slow", "quick", "new"])
    assert pace.left_s() is None
    for name in ("slow", "quick"):
        pace.begin(name)
        pace.end(name, name)
    assert pace.left_s() == pytest.approx(10 + 2 + 6)


def test_effects_are_told_by_their_findings_with_keys_and_costs_as_numbers() -> None:
    crawl_of_all = clean()
    crawl_of_all.files.pop()
    crawl_of_all.captures.append(crawl_of_all.captures[0])
    line = line_of(crawl_of_all.evidence)
    assert line["effects"]["files"]["missing"] == {"count": 1, "keys": {"SKU-00005": "no picture of it"}}
    assert line["effects"]["captures"]["extra"] == 1
    text = "\n".join(verdict_lines(line, Path("results/demo")))
    assert "FAIL  naive  5 of 5 products in 5 rows; 1 files missing; 1 captures extra; " in text
    assert "      files.missing: SKU-00005 (no picture of it)" in text


def test_a_subject_without_effects_has_none_in_its_line() -> None:
    assert line_of(evidence(CLEAN))["effects"] == {}


def test_a_process_without_a_command_line_is_named_too(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"event": "ended", "t_s": 1.0, "incarnation": 0, "exit": -9, "rows": 1, "requests": 2}
    Story().heard("x", entry | {"left_behind": ["sleep 600", ""]})
    assert "left behind: sleep 600, a process that was ending\n" in capsys.readouterr().err
