"""Faults beyond a signal at a request, on real processes: marks, rows, pauses, owners, bumps, orphans that hide."""

import re
from pathlib import Path

import pytest
from killtest.conduct.history import read
from killtest.plan.manifest import Limits
from msgspec.structs import replace
from subjects import FAST, crawler, program
from trials import run

MARK = """
import socket
def mark(name):
    with socket.socket(socket.AF_UNIX) as harness:
        harness.connect(os.environ["KILLTEST_MARK"])
        harness.sendall(name.encode() + b"\\n")
        assert harness.recv(100)
"""

# Two workers, each with its share of the pages, and a parent that waits for them; `AFTER` sees their exit codes.
WORKERS = """
import json, os, sys, re, signal, subprocess, time, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
def work(share):
    for number in share:
        with urllib.request.urlopen(f"{site}/product/{number}") as answer:
            sku = re.search(r'class="sku">([^<]+)<', answer.read().decode())[1]
        with open("out.jsonl", "a") as out:
            out.write(json.dumps({"sku": sku}) + "\\n")
children = []
for share in ((1, 3, 5), (2, 4, 6)):
    pid = os.fork()
    if not pid:
        work(share)
        os._exit(0)
    children.append(pid)
codes = [os.waitpid(pid, 0)[1] for pid in children]
AFTER
"""


def told(tmp_path: Path, event: str) -> list[dict[str, object]]:
    return [entry for entry in read(tmp_path / "trial" / "history.jsonl") if entry["event"] == event]


def test_kill_at_a_mark_hits_exactly_there(isolated: str, tmp_path: Path) -> None:
    who = crawler(tmp_path, before=MARK, each='mark("stored")')
    evidence, _ = run(who, "mark:stored#3 KILL", "mark:stored#1 KILL", tmp_path=tmp_path)
    assert [len(one.rows) for one in evidence.course.snapshots] == [3, 4, 10]  # it starts anew each time and appends
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]


def test_rows_trigger_strikes_with_that_many_rows_stored(isolated: str, tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path), "rows:4 KILL", tmp_path=tmp_path)
    assert len(evidence.course.snapshots[0].rows) == 4
    assert [entry["rows"] for entry in told(tmp_path, "rows")] == [4]
    assert evidence.course.faults[0].window == "waiting"


def test_paused_subject_asks_for_nothing_and_goes_on(isolated: str, tmp_path: Path) -> None:
    evidence, answer = run(crawler(tmp_path), "request:4 STOP+CONT@0.4", tmp_path=tmp_path)
    assert answer.outcome == "PASS"
    stop, resume = (entry["t_s"] for entry in told(tmp_path, "struck"))
    assert isinstance(stop, float)
    assert isinstance(resume, float)
    assert not [r for r in evidence.requests if stop < r.arrived_s < resume]
    assert len(evidence.course.incarnations) == 1
    assert [entry["settled"] for entry in told(tmp_path, "struck")] == [True, True]
    assert not told(tmp_path, "hold_expired")


def test_second_interrupt_reaches_the_same_process(tmp_path: Path) -> None:
    text = """
        import os, signal, sys, time, urllib.request
        heard = []
        def handler(*_):
            heard.append(1)
            if len(heard) == 2:
                open("twice", "w").close()
                os._exit(0)
        signal.signal(signal.SIGINT, handler)
        urllib.request.urlopen(os.environ["KILLTEST_SITE_URL"] + "/list/0").read()
        while os.environ["KILLTEST_INCARNATION"] == "0":
            time.sleep(10)
    """
    run(program(tmp_path, text), "request:1 INT+INT@0.1", tmp_path=tmp_path)
    assert (tmp_path / "trial" / "store" / "twice").exists()
    assert len(told(tmp_path, "struck")) == 2


def test_owner_is_the_worker_whose_request_is_held(isolated: str, tmp_path: Path) -> None:
    who = program(tmp_path, WORKERS.replace("AFTER", "sys.exit(0 if 9 in codes else 1)"))
    evidence, _ = run(who, "request:/product/3 KILL scope=owner", tmp_path=tmp_path)
    assert evidence.course.ending == "finished"
    assert len(evidence.course.incarnations) == 1
    stored = {row.key for row in evidence.course.snapshots[0].rows}
    assert {"SKU-00002", "SKU-00004", "SKU-00006"} <= stored
    assert not {"SKU-00003", "SKU-00005"} & stored


def test_paused_owner_leaves_the_other_worker_running_until_it_is_continued(isolated: str, tmp_path: Path) -> None:
    who = program(tmp_path, WORKERS.replace("AFTER", ""))
    faults = ("request:/product/3 STOP scope=owner", "response:/product/6 CONT")
    evidence, _ = run(who, *faults, tmp_path=tmp_path)
    assert evidence.course.ending == "finished"
    keys = [row.key for row in evidence.course.snapshots[0].rows]
    assert keys.index("SKU-00004") < keys.index("SKU-00003")


def test_bump_serves_the_next_version_from_then_on_even_to_held_requests(tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path), "request:/product/2 bump:/product/2, KILL", tmp_path=tmp_path)
    sent = [(r.path, r.version) for r in evidence.requests if r.path == "/product/2" and r.outcome == "sent"]
    assert sent == [("/product/2", 1)]
    assert [len(p.versions) for p in evidence.truth.rows if p.key == "SKU-00002"] == [2]


@pytest.mark.parametrize(
    ("hang", "words"),
    [
        ("r, w = os.pipe(); os.read(r, 1)", "reading pipe:["),
        ("import socket; socket.create_server(('127.0.0.1', 0)).accept()", "accepting (accept4) socket:["),
    ],
)
def test_hang_says_what_it_waits_for(hang: str, words: str, tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path, after=hang), tmp_path=tmp_path)
    assert evidence.course.ending == "hung"
    assert words in evidence.course.hung_on[0]
    assert re.match(r"\d+ python\S* \w+\.py", evidence.course.hung_on[0]), "the folders say nothing and take room"


HIDDEN = """
if os.environ["KILLTEST_INCARNATION"] == "0" and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    import socket
    door = socket.socket(); door.bind(("127.0.0.1", 0)); door.listen()
    os.execve(sys.executable, [sys.executable, "-c", '''
import os, sys, time, urllib.request
while os.path.exists("{store}/started") is False:
    time.sleep(0.01)
urllib.request.urlopen("{site}/product/1").read()
open("{store}/asked", "w").close()
time.sleep(60)
'''.replace("{site}", site).replace("{store}", os.getcwd())], {})
if os.environ["KILLTEST_INCARNATION"] == "1":
    open("started", "w").close()
    while not os.path.exists("asked"):
        time.sleep(0.01)
"""


def test_orphan_that_hid_its_session_and_environment_is_found_and_its_late_request_is_its_own(
    isolated: str, tmp_path: Path
) -> None:
    evidence, answer = run(crawler(tmp_path, before=HIDDEN), "request:4 KILL scope=pid", tmp_path=tmp_path)
    late = [(r.path, r.incarnation) for r in evidence.requests if r.late]
    assert late == [("/product/1", 0)]
    assert [face.incarnation for face in evidence.course.orphans] == [0]
    assert answer.traffic is not None
    assert answer.traffic.late == 1


def test_port_that_is_left_open_is_a_finding(isolated: str, tmp_path: Path) -> None:
    listener = """
    if os.fork() == 0:
        os.setsid()
        import socket
        door = socket.socket(); door.bind(("127.0.0.1", 0)); door.listen()
        open("port", "w").write(str(door.getsockname()[1]))
        time.sleep(60)
    while not os.path.exists("port"): time.sleep(0.01)
    """
    evidence, _ = run(crawler(tmp_path, before=listener), tmp_path=tmp_path)
    port = int((tmp_path / "trial" / "store" / "port").read_text())
    assert evidence.course.ports == (port,)


def test_subject_that_prints_a_gigabyte_fills_no_disk_and_it_is_said(tmp_path: Path) -> None:
    shout = 'block = b"x" * (1 << 20)\nfor _ in range(1024): os.write(1, block)'
    _, answer = run(crawler(tmp_path, after=shout), tmp_path=tmp_path)
    assert answer.outcome == "PASS"
    printed = tmp_path / "trial" / "incarnation-0.stdout"
    cuts = told(tmp_path, "output_cut")
    assert cuts
    assert b"[killtest dropped " in printed.read_bytes()[: 2 << 20]
    assert printed.stat().st_size < 1 << 30
    assert all(entry["path"] == str(printed) for entry in cuts)


def test_twenty_orphaning_trials_in_a_row_leave_nothing(isolated: str, span: str, tmp_path: Path) -> None:
    start = f'subprocess.Popen([sys.executable, "-c", "import time; time.sleep({span})"], start_new_session=True)'
    who = crawler(tmp_path, before=start, limits=replace(FAST, total_s=30))
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        evidence, _ = run(who, "request:3 KILL scope=pid", tmp_path=folder)
        assert len(evidence.course.orphans) == 2  # one of each incarnation
    assert not [path for path in Path("/proc").iterdir() if path.name.isdigit() and span in _command(path)]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def test_subject_paused_without_an_end_is_continued_after_the_idle_limit(tmp_path: Path) -> None:
    who = crawler(tmp_path, limits=Limits(idle_s=0.5, total_s=20, grace_s=1))
    _, answer = run(who, "request:4 STOP", tmp_path=tmp_path)
    assert answer.outcome == "PASS"
    assert len(told(tmp_path, "resumed")) == 1


def test_second_fault_for_a_held_request_strikes_before_its_answer_goes_out(isolated: str, tmp_path: Path) -> None:
    faults = ("request:/product/2 STOP", "request:/product/2 bump:/product/2", "request:/product/2 KILL")
    evidence, _ = run(crawler(tmp_path), *faults, tmp_path=tmp_path)
    held = [r.outcome for r in evidence.requests if (r.path, r.incarnation) == ("/product/2", 0)]
    assert held == ["held"]
    assert [(fault.status, fault.in_flight) for fault in evidence.course.faults] == [("struck", ("/product/2",))] * 3
    assert evidence.course.faults[2].window == "waiting"


def test_owner_that_can_not_be_found_costs_its_fault_alone_and_it_is_said_why(tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path), "response:3 KILL scope=owner", "request:4 KILL", tmp_path=tmp_path)
    assert [fault.status for fault in evidence.course.faults] == ["not_reached", "struck"]
    assert [entry["why"] for entry in told(tmp_path, "missed")] == [
        "its owner can't be found: its connection is closed, or it ended"
    ]


def test_what_again_starts_leave_behind_does_not_count_twice(isolated: str, span: str, tmp_path: Path) -> None:
    start = f'subprocess.Popen([sys.executable, "-c", "import time; time.sleep({span})"], start_new_session=True)'
    evidence, answer = run(crawler(tmp_path, before=start), tmp_path=tmp_path, again=2, control=True)
    assert (answer.outcome, len(evidence.course.orphans)) == ("FAIL", 1)


def test_worker_that_we_stopped_is_continued_before_it_is_called_an_orphan(isolated: str, tmp_path: Path) -> None:
    watch = (
        "import threading\nhere = os.getpid()\n"
        "def watch():\n    while os.getppid() == here: time.sleep(0.01)\n    os._exit(0)\n"
        "def work(share):\n    threading.Thread(target=watch, daemon=True).start()\n    fetch(share)\n"
    )
    text = WORKERS.replace("def work(share):", "def fetch(share):").replace("children = []", watch + "children = []")
    who = program(tmp_path, text.replace("AFTER", ""))
    faults = ("request:/product/3 STOP scope=owner", "after:0.6 KILL scope=pid")
    evidence, _ = run(who, *faults, tmp_path=tmp_path)
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]
    assert evidence.course.orphans == ()


def test_fault_behind_a_pause_is_armed_before_anybody_moves(isolated: str, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        faults = ("request:4 STOP+CONT@0.1", "request:5 KILL")
        evidence, _ = run(crawler(tmp_path), *faults, tmp_path=tmp_path / str(number))
        assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]
        assert evidence.course.incarnations[0].exit == -9
