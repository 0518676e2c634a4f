"""Several copies of a subject side by side: real processes, one of them struck while the others run on."""

import json
from pathlib import Path

import msgspec
import pytest
import trials
from killtest.conduct import trial
from killtest.judge.evidence import Evidence
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Limits, SiteNeeds, Subject
from killtest.plan.schedule import Schedule
from subjects import FAST, program

# Copy 0 takes the odd products and copy 1 the even ones, each on a connection of its own for every page.
HALVES = """
import json, os, re, signal, socket, subprocess, sys, time, urllib.request
site, mine = os.environ["KILLTEST_SITE_URL"], int(os.environ["KILLTEST_INSTANCE"])
name = f"out-{mine}.jsonl"
done = {json.loads(line)["sku"] for line in open(name)} if os.path.exists(name) else set()
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()
def mark(name):
    with socket.socket(socket.AF_UNIX) as post:
        post.connect(os.environ["KILLTEST_MARK"])
        post.sendall(name.encode() + b"\\n")
        post.recv(10)
BEFORE
for number in range(1 + mine, 7, 2):
    if f"SKU-{number:05}" in done:
        continue
    sku = re.search(r'class="sku">([^<]+)<', get(f"/product/{number}"))[1]
    with open(name, "a") as out:
        out.write(json.dumps({"sku": sku}) + "\\n")
    mark("stored")
AFTER
"""


def halves(folder: Path, before: str = "", after: str = "", limits: Limits = FAST) -> Subject:
    one = program(folder, HALVES.replace("BEFORE", before).replace("AFTER", after), limits)
    return msgspec.structs.replace(one, instances=2, store=msgspec.structs.replace(one.store, path="out-*.jsonl"))


def course_of(evidence: Evidence) -> list[tuple[int, int, str, int]]:
    """Number, copy, by what it ended, exit code: in the order of the starts."""
    found = sorted(evidence.course.incarnations, key=lambda one: one.number)
    return [(one.number, one.instance, one.ended_by, one.exit) for one in found]


def test_copies_run_side_by_side_and_count_as_one(isolated: str, tmp_path: Path) -> None:
    evidence, verdict = trials.run(halves(tmp_path), tmp_path=tmp_path)
    assert course_of(evidence) == [(0, 0, "itself", 0), (1, 1, "itself", 0)]
    assert (evidence.course.ending, verdict.outcome) == ("finished", "PASS")
    assert verdict.traffic is not None
    assert (verdict.traffic.requests, verdict.traffic.repeated, verdict.traffic.late) == (6, 0, 0)


@pytest.mark.parametrize("struck", [0, 1])
def test_only_the_copy_that_is_meant_is_killed_and_started_again(isolated: str, tmp_path: Path, struck: int) -> None:
    before = "signal.signal(signal.SIGTERM, lambda *_: None)"
    evidence, verdict = trials.run(
        halves(tmp_path, before), f"request:2 KILL instance={struck}", f"2/request:1 KILL instance={struck}",
        tmp_path=tmp_path,
    )  # fmt: skip
    other = 1 - struck
    assert course_of(evidence)[struck] == (struck, struck, "fault", -9)
    assert course_of(evidence)[other] == (other, other, "itself", 0)
    assert course_of(evidence)[2:] == [(2, struck, "fault", -9), (3, struck, "itself", 0)]
    assert [fault.status for fault in evidence.course.faults] != ["not_reached", "not_reached"]
    assert verdict.outcome == "PASS"


def test_a_request_belongs_to_the_copy_that_made_it(isolated: str, tmp_path: Path) -> None:
    wait = "while len(open('out-1.jsonl').readlines() if os.path.exists('out-1.jsonl') else []) < 3 and mine == 0: pass"
    evidence, verdict = trials.run(halves(tmp_path, before=wait), "request:1 KILL instance=1", tmp_path=tmp_path)
    by = {request.path: request.incarnation for request in evidence.requests if request.outcome == "sent"}
    assert {by[f"/product/{number}"] for number in (2, 4, 6)} == {2}
    assert {by[f"/product/{number}"] for number in (1, 3, 5)} == {0}, "copy 0 was started before copy 1 started again"
    assert verdict.traffic is not None
    assert verdict.traffic.late == 0


def test_a_request_of_a_copy_s_daemon_belongs_to_that_copy(isolated: str, tmp_path: Path) -> None:
    daemon = (
        "import os, pathlib, sys, time, urllib.request\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "while not pathlib.Path('restarted').exists(): time.sleep(0.01)\n"
        "urllib.request.urlopen(os.environ['KILLTEST_SITE_URL'] + '/list/1').read()\n"
        "pathlib.Path('fetched').touch()\n"
    )
    before = f"""
if mine == 0:
    subprocess.run([sys.executable, "-c", {daemon!r}])
    open("left", "w")
while not os.path.exists("left"):
    time.sleep(0.01)
if mine == 1 and os.environ["KILLTEST_INCARNATION"] != "1":
    open("restarted", "w")
while os.environ["KILLTEST_INCARNATION"] != "1" and not os.path.exists("fetched"):
    time.sleep(0.01)
"""
    evidence, verdict = trials.run(halves(tmp_path, before), "request:1 KILL instance=1", tmp_path=tmp_path)
    assert [one.incarnation for one in evidence.requests if one.path == "/list/1"] == [0]
    assert (evidence.course.orphans, verdict.outcome) == ((), "PASS")


def test_an_incarnation_of_another_copy_is_not_struck(tmp_path: Path) -> None:
    # Requests are counted over both: the first must be copy 0's, which is killed in it.
    wait = "while mine == 1 and not os.path.exists('out-0.jsonl'): pass"
    evidence, _ = trials.run(
        halves(tmp_path, before=wait), "0/request:1 KILL instance=1", "0/request:1 KILL", tmp_path=tmp_path
    )
    assert [(fault.status, fault.incarnation) for fault in evidence.course.faults] == [
        ("not_reached", None), ("struck", 0),
    ]  # fmt: skip


def test_the_owner_of_the_held_request_is_found_among_all_copies(isolated: str, tmp_path: Path) -> None:
    evidence, verdict = trials.run(halves(tmp_path), "request:/product/4 KILL scope=owner", tmp_path=tmp_path)
    assert course_of(evidence) == [(0, 0, "itself", 0), (1, 1, "fault", -9), (2, 1, "itself", 0)]
    assert evidence.course.faults[0].incarnation == 1
    assert verdict.outcome == "PASS"


def test_marks_are_counted_over_all_copies(isolated: str, tmp_path: Path) -> None:
    evidence, _ = trials.run(halves(tmp_path), "mark:stored#6 STOP scope=owner", "after:0 CONT", tmp_path=tmp_path)
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]


def test_a_copy_that_is_killed_for_good_stays_away(isolated: str, tmp_path: Path) -> None:
    evidence, verdict = trials.run(
        halves(tmp_path), "request:/product/4 KILL instance=1 restart=never", tmp_path=tmp_path
    )
    assert course_of(evidence) == [(0, 0, "itself", 0), (1, 1, "fault", -9)]
    assert (evidence.course.ending, verdict.outcome, verdict.data and verdict.data.lost.keys()) == (
        "finished", "FAIL", {"SKU-00004"},
    )  # fmt: skip
    assert verdict.data is not None
    assert verdict.data.missed.keys() == {"SKU-00006"}


def test_a_fault_for_a_copy_that_is_done_is_not_reached_and_the_next_one_strikes(isolated: str, tmp_path: Path) -> None:
    wait = "time.sleep(60) if os.environ['KILLTEST_INCARNATION'] == '0' else None"
    evidence, _ = trials.run(
        halves(tmp_path, wait), "request:/product/1 KILL instance=1", "after:0 KILL", tmp_path=tmp_path
    )
    assert [fault.status for fault in evidence.course.faults] == ["not_reached", "before_first_request"]
    assert course_of(evidence)[2:] == [(2, 0, "itself", 0)]


@pytest.mark.parametrize(
    ("after", "ending"),
    [
        ("sys.exit(7) if mine == 1 else time.sleep(60)", "crash_loop"),
        ("time.sleep(60) if mine == 1 else None", "hung"),
    ],
)
def test_one_bad_copy_ends_the_trial_and_nothing_is_left(
    isolated: str, tmp_path: Path, after: str, ending: str
) -> None:
    evidence, verdict = trials.run(halves(tmp_path, after=after), tmp_path=tmp_path)
    assert (evidence.course.ending, verdict.outcome) == (ending, "FAIL")
    assert (evidence.course.orphans, evidence.course.zombies) == ((), ())


def test_what_a_killed_copy_leaves_behind_is_an_orphan_and_what_its_peers_run_is_none(
    isolated: str, tmp_path: Path
) -> None:
    before = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], "
        "start_new_session=True) if mine == 1 else subprocess.Popen(['sleep', '60'])"
    )
    after = "child.kill(); child.wait()"
    evidence, _ = trials.run(
        halves(tmp_path, before, after), "request:/product/4 KILL scope=pid instance=1", tmp_path=tmp_path
    )
    left = [json.loads(line) for line in (tmp_path / "trial/history.jsonl").read_text().splitlines()]
    behind = next(entry["left_behind"] for entry in left if entry["event"] == "ended" and entry["incarnation"] == 1)
    assert len(behind) == 1
    assert "time.sleep" in behind[0]
    assert len(evidence.course.orphans) == 1


def test_each_fault_strikes_at_its_own_request_while_another_copy_starts_again_and_again(tmp_path: Path) -> None:
    one = program(tmp_path, HALVES, Limits(restarts=1000))
    text = HALVES.replace("BEFORE", "sys.exit(0 if os.path.exists('over') else 3) if mine else None")
    text = text.replace("range(1 + mine, 7, 2)", "range(1, 61)").replace("AFTER", "open('over', 'w')")
    (tmp_path / "crawl.py").write_text(text)
    who = msgspec.structs.replace(one, instances=2, store=msgspec.structs.replace(one.store, path="out-*.jsonl"))
    faults = tuple(f"request:/product/{number} bump:/product/{number}" for number in range(1, 60))
    evidence = trial.run(
        Planned(who, Schedule("s", faults), False), SiteNeeds(products=60, list_pages=1), tmp_path / "trial"
    )
    assert len(evidence.course.incarnations) > 3, "the second copy has not been started again"
    struck = [(fault.planned, fault.status, fault.incarnation, fault.in_flight) for fault in evidence.course.faults]
    assert struck == [(text, "struck", 0, (text.rpartition("bump:")[2],)) for text in faults]
