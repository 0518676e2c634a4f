"""Full and broken disks, memory and clocks, on real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest
from killtest.conduct.history import read
from killtest.errors import UsageError
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.plan.suitability import check_faults
from killtest.process import clock, memory_cgroup
from killtest.process import process_tree as tree
from killtest.process.memory_limit import MemoryLimit
from killtest.trace import seccomp
from subjects import program
from trials import run

watched = pytest.mark.skipif(bool(seccomp.refusal()), reason="this machine allows no seccomp notification")

# Stores each product once, in one write, and goes on where it was. `BEFORE` stands ahead of its crawl; `STORE` stores.
SOUND = """
import json, os, re, subprocess, sys, time, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
have = {json.loads(line)["sku"] for line in open("out.jsonl")} if os.path.exists("out.jsonl") else set()
def put(sku):
    with open("out.jsonl", "ab", buffering=0) as out:
        out.write(json.dumps({"sku": sku}).encode() + b"\\n")
BEFORE
for number in range(1, 7):
    with urllib.request.urlopen(f"{site}/product/{number}") as answer:
        sku = re.search(r'class="sku">([^<]+)<', answer.read().decode())[1]
    if sku not in have:
        STORE
"""


def sound(folder: Path, store: str = "put(sku)", before: str = "pass") -> Subject:
    return program(folder, SOUND.replace("BEFORE", before).replace("STORE", store))


def told(tmp_path: Path, event: str) -> list[dict[str, object]]:
    return [entry for entry in read(tmp_path / "trial" / "history.jsonl") if entry["event"] == event]


@watched
def test_full_disk_until_the_incarnation_ends_and_then_there_is_space(isolated: str, tmp_path: Path) -> None:
    evidence, answer = run(sound(tmp_path), "request:3 enospc", tmp_path=tmp_path)
    assert answer.outcome == "PASS", answer
    assert [(one.exit, one.ended_by) for one in evidence.course.incarnations] == [(1, "itself"), (0, "itself")]
    assert [len(one.rows) for one in evidence.course.snapshots] == [2, 6]
    (failed,) = told(tmp_path, "call_failed")
    assert (failed["call"], failed["path"], failed["incarnation"]) == ("write", "out.jsonl", 0)
    assert [entry["calls"] for entry in told(tmp_path, "calls_failed")] == [1]
    assert evidence.course.faults[0].status == "struck"


@watched
def test_words_from_before_the_failure_name_no_cause(isolated: str, tmp_path: Path) -> None:
    store = "try: put(sku)\n        except OSError: os._exit(3)"
    who = sound(tmp_path, store, before="print('is the disk full? no', flush=True)")
    _, answer = run(who, "request:3 enospc", tmp_path=tmp_path)
    assert answer.data is not None
    assert list(answer.data.unexplained) == ["incarnation 0"]


@watched
def test_one_call_fails_and_exactly_that_one(tmp_path: Path) -> None:
    who = sound(tmp_path, "try: put(sku)\n        except OSError as error: print(error)")
    evidence, answer = run(who, "syscall:write#4 eio*1", tmp_path=tmp_path)
    (failed,) = told(tmp_path, "call_failed")
    assert (failed["call"], failed["n"]) == ("write", 4)
    assert [row.key for row in evidence.course.snapshots[0].rows] == [f"SKU-0000{n}" for n in (1, 2, 3, 5, 6)]
    assert answer.data is not None
    assert list(answer.data.lost) == ["SKU-00004"]
    assert (answer.outcome, answer.false_done) == ("FAIL", True)  # it swallowed the error


@watched
def test_stop_with_a_wrong_message_is_told(tmp_path: Path) -> None:
    who = sound(tmp_path, "try: put(sku)\n        except OSError: sys.exit('could not go on')")
    _, answer = run(who, "request:3 eio*1", tmp_path=tmp_path)
    assert answer.data is not None
    assert answer.data.unexplained == {
        "incarnation 0": "exit 1 behind EIO at openat out.jsonl; it said: could not go on"
    }
    assert (answer.outcome, answer.cause) == ("FAIL", "faults")
    assert not answer.data.lost


@watched
def test_subject_that_waits_for_space_goes_on(tmp_path: Path) -> None:
    lines = ("while True:", "    try: put(sku)", "    except OSError: time.sleep(0.01)", "    else: break")
    evidence, answer = run(sound(tmp_path, "\n        ".join(lines)), "request:3 enospc*5", tmp_path=tmp_path)
    assert answer.outcome == "PASS"
    assert len(evidence.course.incarnations) == 1
    assert evidence.course.errors[0].calls == 5


@watched
def test_call_that_never_comes_is_not_reached(tmp_path: Path) -> None:
    evidence, answer = run(sound(tmp_path), "syscall:unlink eio", tmp_path=tmp_path)
    assert evidence.course.faults[0].status == "not_reached"
    assert answer.outcome == "UNKNOWN"


@watched
def test_calls_of_children_fail_as_well(tmp_path: Path) -> None:
    child = "subprocess.run(['sh', '-c', 'echo x > new'], check=True)"
    evidence, _ = run(sound(tmp_path, before=child), "syscall:openat enospc", tmp_path=tmp_path)
    assert (evidence.course.errors[0].path, evidence.course.incarnations[0].exit) == ("new", 1)


BIG_CHILD = """
child = os.fork()
if not child:
    held = bytearray(os.urandom(1 << 20)) * 80
    print("ready", file=open("ready", "w"))
    time.sleep(600)
while not os.path.exists("ready"): time.sleep(0.005)
"""


def test_oom_kills_the_largest_alone(isolated: str, tmp_path: Path) -> None:
    after = "if number == 6: print(os.waitpid(child, 0)[1])"
    who = sound(tmp_path, f"put(sku)\n        {after}", BIG_CHILD)
    evidence, answer = run(who, "request:3 oom", tmp_path=tmp_path)
    assert answer.outcome == "PASS"
    assert len(evidence.course.incarnations) == 1
    assert (tmp_path / "trial" / "incarnation-0.stdout").read_text() == "9\n"
    (struck,) = told(tmp_path, "struck")
    assert struck["targets"] == 1
    assert isinstance(struck["resident_bytes"], int)
    assert struck["resident_bytes"] > 80 << 20


GROWS = "held = bytearray(os.urandom(1 << 20)) * 120 if os.environ['KILLTEST_INCARNATION'] == '0' else None"


def test_who_exceeds_the_limit_of_memory_is_killed_and_named(isolated: str, tmp_path: Path) -> None:
    evidence, answer = run(sound(tmp_path, before=GROWS), "memory:80M", tmp_path=tmp_path)
    assert answer.outcome == "PASS", answer
    assert [one.exit for one in evidence.course.incarnations] == [-9, 0]
    assert evidence.course.self_deaths == 1
    assert evidence.course.faults[0].status == "before_first_request"
    (limited,) = told(tmp_path, "memory_limited")
    (killed,) = told(tmp_path, "out_of_memory")
    assert str(limited["by"]).startswith(("the kernel (memory cgroup", "the warden"))
    assert killed["incarnation"] == 0
    assert isinstance(killed["resident_bytes"], int)
    assert killed["resident_bytes"] > 10 << 20
    assert left_cgroups() == []


def test_limit_below_what_is_held_kills_at_once(tmp_path: Path) -> None:
    evidence, _ = run(sound(tmp_path, before=GROWS), "request:3 memory:80M", tmp_path=tmp_path)
    assert [one.exit for one in evidence.course.incarnations] == [-9, 0]
    assert len(evidence.course.snapshots[0].rows) == 2
    assert left_cgroups() == []


def left_cgroups(owner: int | None = None) -> list[Path]:
    """The memory cgroups of this process's trials, or of another's."""
    name = f"killtest-*-{owner or os.getpid()}-*"
    return [path for mount, _ in memory_cgroup._mounts() for path in mount.rglob(name)]


class Family:
    """Kin of one process."""

    incarnation = 3

    def __init__(self, *pids: int) -> None:
        self.pids = pids

    def living(self) -> list[tree.Identity]:
        return [one for pid in self.pids if (one := tree.identify(pid)) is not None]

    def incarnation_of(self, _: tree.Identity) -> int:
        return 3


def test_without_a_cgroup_the_warden_kills_the_largest() -> None:
    text = "import sys, time; held = bytearray(int(sys.argv[1]) << 20); print(flush=True); time.sleep(600)"
    both = [
        subprocess.Popen([sys.executable, "-c", text, size], stdout=subprocess.PIPE, text=True) for size in ("1", "90")
    ]
    said: list[dict[str, object]] = []
    try:
        for one in both:
            assert one.stdout is not None
            one.stdout.readline()
        limit = MemoryLimit(Family(*(one.pid for one in both)), said.append)  # type: ignore[arg-type]
        assert "the warden" in limit.commands["limit_memory"]({"size_bytes": 60 << 20})["by"]
        limit.look()
        assert both[1].wait(10) == -signal.SIGKILL
        limit.look()
        assert both[0].poll() is None
    finally:
        for one in both:
            one.kill()
            one.communicate()
    assert [(one["pid"], one["incarnation"], one["limit_bytes"]) for one in said] == [(both[1].pid, 3, 60 << 20)]


@pytest.fixture
def cgroups() -> None:
    made = memory_cgroup.make(memory_cgroup.name_of(os.getpid(), "probe"))
    if made is None:
        pytest.skip("this machine lets us make no memory cgroup")
    made.remove()


def test_killed_harness_leaves_no_cgroup(cgroups: None, tmp_path: Path) -> None:
    (tmp_path / "crawl.py").write_text("import time; time.sleep(600)")
    words = ["run", "--store", "jsonl:out.jsonl", "--key", "sku", "--fault", "memory:64M", "--controls", "0"]
    command = [sys.executable, "-m", "killtest", *words, "--results", str(tmp_path), "--", "{python}", "crawl.py"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as harness:
        assert harness.stderr is not None
        while "incarnation 0 starts" not in harness.stderr.readline():
            pass
        assert len(left_cgroups(harness.pid)) == 1
        below = psutil.Process(harness.pid).children(recursive=True)
        harness.kill()
        harness.stderr.read()
    assert psutil.wait_procs(below, timeout=10)[1] == []
    assert left_cgroups(harness.pid) == []


def test_doctor_removes_what_killed_runs_left(cgroups: None) -> None:
    gone = subprocess.Popen(["true"])
    name = memory_cgroup.name_of(gone.pid, "left")
    assert memory_cgroup.make(name) is not None
    gone.wait()
    assert memory_cgroup.sweep() >= 1
    assert left_cgroups(gone.pid) == []


@pytest.mark.skipif(clock.library() is None, reason="libfaketime is not installed")
def test_clock_is_moved_from_the_next_start_on_and_moves_add_up(isolated: str, tmp_path: Path) -> None:
    who = sound(tmp_path, before="print(time.time(), flush=True)")
    began_s = time.time()
    run(who, "request:2 clock:-3600, KILL", "request:1 clock:+60", "request:2 KILL", tmp_path=tmp_path)
    told_s = [float((tmp_path / "trial" / f"incarnation-{n}.stdout").read_text()) - began_s for n in range(3)]
    assert [round(moved_s / 60) for moved_s in told_s] == [0, -60, -59]
    assert [entry["moved_s"] for entry in told(tmp_path, "clock")] == [-3600, 60]


@pytest.mark.skipif(clock.library() is None, reason="libfaketime is not installed")
def test_clock_is_moved_beside_what_the_subject_preloads_itself(isolated: str, tmp_path: Path) -> None:
    who = sound(tmp_path, before="import os; print(time.time(), os.environ['LD_PRELOAD'], flush=True)")
    who = msgspec.structs.replace(who, env={**who.env, "LD_PRELOAD": "libm.so.6"})
    began_s = time.time()
    run(who, "request:2 clock:-3600, KILL", tmp_path=tmp_path)
    before, behind = ((tmp_path / "trial" / f"incarnation-{n}.stdout").read_text().split() for n in range(2))
    assert before[1] == "libm.so.6"
    assert behind[1] == f"libm.so.6:{clock.library()}"
    assert round((float(behind[0]) - began_s) / 60) == -60


def test_clock_is_refused_where_it_can_not_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "library", lambda: None)
    with pytest.raises(UsageError, match=r"wants libfaketime: pip install 'killtest\[explore\]'"):
        check_faults(["request:2 clock:+60, KILL"], sound(tmp_path), SiteNeeds(), "x")


def test_failing_calls_are_refused_for_several_copies(tmp_path: Path) -> None:
    from msgspec.structs import replace

    with pytest.raises(UsageError, match="the calls of several instances side by side can't be counted"):
        check_faults(["request:2 enospc"], replace(sound(tmp_path), instances=2), SiteNeeds(), "x")
