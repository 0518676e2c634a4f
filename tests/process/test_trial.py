"""Whole trials on real processes, a real site and real signals."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from killtest.campaigns import trial_line
from killtest.conduct import trial
from killtest.conduct.history import read
from killtest.errors import HarnessFailure, UsageError
from killtest.judge import verdict
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Limits
from killtest.plan.schedule import Schedule
from msgspec.structs import replace
from subjects import SMALL, crawler, program
from trials import run


def test_clean_crawl_passes_at_minimum_cost(isolated: str, tmp_path: Path) -> None:
    evidence, answer = run(crawler(tmp_path), tmp_path=tmp_path, control=True)
    assert answer.outcome == "PASS"
    assert answer.traffic is not None
    assert (answer.traffic.requests, answer.traffic.minimum, answer.traffic.max_concurrent) == (8, 8, 1)
    assert evidence.course.incarnations[0].first_request_s is not None


def test_kill_at_a_held_request_hits_exactly_there(isolated: str, tmp_path: Path) -> None:
    evidence, answer = run(crawler(tmp_path), "request:4 KILL", "response:3 KILL", tmp_path=tmp_path)
    paths = [[r.path for r in evidence.requests if r.incarnation == n] for n in (0, 1)]
    assert paths[0] == ["/list/0", "/product/1", "/product/2", "/product/3"]
    assert paths[1][:3] == ["/list/0", "/product/1", "/product/2"]
    outcomes = [[r.outcome for r in evidence.requests if r.incarnation == n] for n in (0, 1)]
    assert outcomes[0] == ["sent"] * 3 + ["held"]
    # Behind the third answer nothing is sent; the subject may have asked once more before the kill landed.
    assert outcomes[1] in (["sent"] * 3, ["sent"] * 3 + ["held"])
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]
    assert answer.data is not None
    # Two rows of the first life; of the second one the row of /product/2 may or may not have been written.
    assert answer.data.rows in (2 + 1 + 6, 2 + 2 + 6)


def test_request_for_a_path_and_its_second_time(tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path), "request:/product/5 KILL", "request:/list/0#1 KILL", tmp_path=tmp_path)
    assert [fault.in_flight for fault in evidence.course.faults] == [("/product/5",), ("/list/0",)]


def test_timers_strike_while_no_byte_is_sent(tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path, before="get('/list/0'); time.sleep(60)"), "first+0.2 KILL", tmp_path=tmp_path)
    fault = evidence.course.faults[0]
    assert fault.window == "idle"
    assert fault.since_first_request_s == pytest.approx(0.2, abs=0.1)


def test_handled_signal_is_delivered_before_the_answer_goes_out(isolated: str, tmp_path: Path) -> None:
    before = """
    def stop(*_):
        with open("told", "a") as out:
            out.write("stopped ")
        sys.exit(0)
    signal.signal(signal.SIGTERM, stop)
    """
    evidence, _ = run(crawler(tmp_path, before), "request:4 TERM", tmp_path=tmp_path)
    assert (tmp_path / "trial" / "store" / "told").read_text() == "stopped "
    assert evidence.course.faults[0].caught is True
    # The rows of /product/1 and /product/2 only: the held /product/3 was never answered to a living handler.
    assert len(evidence.course.snapshots[0].rows) == 2


def test_ignored_signal_is_escalated(tmp_path: Path) -> None:
    who = crawler(tmp_path, "signal.signal(signal.SIGINT, signal.SIG_IGN)", "time.sleep(60)")
    evidence, _ = run(who, "request:4 INT", "2/request:1 KILL", tmp_path=tmp_path)
    fault = evidence.course.faults[0]
    assert (fault.status, fault.ignored) == ("escalated", True)


def test_exit_1_at_once_is_refused_start(tmp_path: Path) -> None:
    evidence, answer = run(program(tmp_path, "raise SystemExit(1)"), tmp_path=tmp_path)
    assert (evidence.course.ending, answer.outcome) == ("refused_start", "FAIL")


def test_death_after_a_request_is_a_crash_loop(tmp_path: Path) -> None:
    evidence, _ = run(crawler(tmp_path, "get('/list/0'); sys.exit(1)"), tmp_path=tmp_path)
    assert evidence.course.ending == "crash_loop"
    assert evidence.course.self_deaths == 3


def test_sleep_is_hung_and_endless_asking_is_out_of_time(tmp_path: Path) -> None:
    hung, _ = run(program(tmp_path, "import time; time.sleep(600)"), tmp_path=tmp_path)
    assert hung.course.ending == "hung"
    asking = crawler(tmp_path, "while True: get('/list/0'); time.sleep(0.05)")
    short = replace(asking, limits=Limits(total_s=2))
    assert run(short, tmp_path=tmp_path)[0].course.ending == "out_of_time"


def test_store_that_never_appears_loses_everything_and_says_so(tmp_path: Path) -> None:
    before = "os.chdir('/'); open = lambda *a: __import__('io').open(os.devnull, 'a')"
    evidence, answer = run(crawler(tmp_path, before), tmp_path=tmp_path)
    assert not evidence.course.snapshots[0].exists
    assert answer.data is not None
    assert len(answer.data.lost) == 6


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.Popen(['sleep', 'SPAN'])",
        "subprocess.Popen(['sleep', 'SPAN'], start_new_session=True)",
        "subprocess.Popen(['setsid', 'sleep', 'SPAN'], env={}, cwd='/')",
    ],
)
def test_orphans_are_found_counted_and_ended(isolated: str, start: str, span: str, tmp_path: Path) -> None:
    evidence, answer = run(crawler(tmp_path, after=start.replace("SPAN", span)), tmp_path=tmp_path)
    assert len(evidence.course.orphans) == 1
    assert f"sleep {span}" in evidence.course.orphans[0].command
    assert answer.outcome == "FAIL"
    assert not _sleepers(span)


def _sleepers(seconds: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", seconds]]


def test_zombie_of_a_living_orphan_is_counted_apart(isolated: str, tmp_path: Path) -> None:
    careless = (
        "import os, subprocess, time; child = subprocess.Popen(['true'])\n"
        "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT); print('dead', flush=True); time.sleep(600)"
    )
    start = f"subprocess.Popen([sys.executable, '-c', {careless!r}], stdout=subprocess.PIPE).stdout.readline()"
    evidence, _ = run(crawler(tmp_path, after=start), tmp_path=tmp_path)
    assert (len(evidence.course.orphans), len(evidence.course.zombies)) == (1, 1)


def test_kill_takes_the_whole_tree_and_pid_scope_only_the_main_process(tmp_path: Path) -> None:
    before = "subprocess.Popen(['sleep', '600'])"
    killed, _ = run(crawler(tmp_path, before), "request:2 KILL", tmp_path=tmp_path)
    entries = read(tmp_path / "trial" / "history.jsonl")
    assert [e["targets"] for e in entries if e["event"] == "struck"] == [2]
    assert next(e["left_behind"] for e in entries if e["event"] == "ended") == []
    run(crawler(tmp_path, before), "request:2 KILL scope=pid", tmp_path=tmp_path)
    entries = read(tmp_path / "trial" / "history.jsonl")
    assert [e["targets"] for e in entries if e["event"] == "struck"] == [1]
    assert next(e["left_behind"] for e in entries if e["event"] == "ended") == ["sleep 600"]
    assert killed.course.faults[0].scope == "tree"


def test_group_scope_reaches_every_process_of_the_group(tmp_path: Path) -> None:
    run(crawler(tmp_path, "subprocess.Popen(['sleep', '600'])"), "request:2 INT", tmp_path=tmp_path)
    entries = read(tmp_path / "trial" / "history.jsonl")
    assert [e["targets"] for e in entries if e["event"] == "struck"] == [2]
    assert next(e["left_behind"] for e in entries if e["event"] == "ended") == []


def test_helper_that_ends_soon_after_its_parent_is_no_orphan(isolated: str, tmp_path: Path) -> None:
    after = "from multiprocessing.shared_memory import SharedMemory; m = SharedMemory(create=True, size=1); m.unlink()"
    evidence, answer = run(crawler(tmp_path, after=after), tmp_path=tmp_path)
    assert (evidence.course.orphans, evidence.course.zombies, answer.outcome) == ((), (), "PASS")


def test_work_without_requests_is_no_hang_even_in_short_lived_children(tmp_path: Path) -> None:
    burn = "import time; t = time.process_time(); exec('while time.process_time() - t < 0.3: pass')"
    own = crawler(tmp_path, f"[subprocess.run([sys.executable, '-c', {burn!r}]) for _ in range(5)]")
    evidence, _ = run(replace(own, limits=Limits(idle_s=0.8, total_s=60)), tmp_path=tmp_path)
    assert evidence.course.ending == "finished"


def test_tree_that_forks_without_end_is_killed_all_the_same(isolated: str, tmp_path: Path) -> None:
    storm = f"import os, time  # {tmp_path}\nfor _ in range(150):\n    if os.fork(): time.sleep(600)\n"
    evidence, _ = run(
        crawler(tmp_path, f"subprocess.Popen([sys.executable, '-c', {storm!r}])"), "request:3 KILL", tmp_path=tmp_path
    )
    assert evidence.course.incarnations[0].exit == -9
    assert not [p for p in psutil.process_iter(["cmdline"]) if storm in (p.info["cmdline"] or [])]


def test_subject_that_removes_its_store_folder_is_judged(tmp_path: Path) -> None:
    who = crawler(tmp_path, after="import shutil; shutil.rmtree(os.environ['KILLTEST_STORE'])")
    evidence, answer = run(who, "request:8 KILL", tmp_path=tmp_path)
    assert not evidence.course.snapshots[-1].exists
    assert answer.outcome == "FAIL"


def test_temporary_folder_has_a_short_path(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    who = crawler(deep, after="import multiprocessing; multiprocessing.Manager().shutdown()")
    planned = Planned(who, Schedule("s"))
    assert verdict.judge(trial.run(planned, SMALL, deep / "trial")).outcome == "PASS"


def test_modules_in_the_callers_folder_do_not_shadow_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "selectors.py").write_text("raise SystemExit('not yours')")
    monkeypatch.chdir(elsewhere)
    assert run(crawler(tmp_path), tmp_path=tmp_path)[1].outcome == "PASS"


def test_client_that_closes_its_sending_side_is_still_there(tmp_path: Path) -> None:
    before = """
    import socket
    from urllib.parse import urlsplit
    def get(path):
        with socket.create_connection((urlsplit(site).hostname, urlsplit(site).port)) as s:
            s.sendall(f"GET {path} HTTP/1.0\\r\\n\\r\\n".encode())
            s.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()
    """
    needs = replace(SMALL, latency_ms=5)
    evidence = trial.run(Planned(crawler(tmp_path, before), Schedule("s", ("request:4 KILL",))), needs, tmp_path / "t")
    assert verdict.judge(evidence).data is not None
    assert {r.outcome for r in evidence.requests if r.incarnation == 1} == {"sent"}
    assert [r.outcome for r in evidence.requests if r.incarnation == 0] == ["sent"] * 3 + ["held"]


def test_grandchild_that_holds_stdout_does_not_block(tmp_path: Path) -> None:
    who = crawler(tmp_path, after="subprocess.Popen(['sleep', '600'])")
    began_s = time.monotonic()
    run(who, tmp_path=tmp_path)
    assert time.monotonic() - began_s < 30  # a blocked pipe would wait for ten minutes


def test_environment_is_clean_and_signals_are_at_their_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setenv("MY_SECRET", "1")
    who = crawler(tmp_path, after="print(json.dumps(dict(os.environ))); print(signal.getsignal(signal.SIGINT))")
    run(who, tmp_path=tmp_path)
    told = (tmp_path / "trial" / "incarnation-0.stdout").read_text()
    assert "MY_SECRET" not in told
    assert "PYTHONUNBUFFERED" not in told
    assert '"KILLTEST_INCARNATION": "0"' in told
    assert "default_int_handler" in told


def test_subject_gets_sigint_at_its_default_though_the_harness_was_started_with_it_ignored(tmp_path: Path) -> None:
    crawler(tmp_path, after="print(signal.getsignal(signal.SIGINT))")
    (tmp_path / "subject.toml").write_text(
        'name = "tiny"\ncommand = ["{python}", "crawl.py"]\n[site]\nproducts = 6\nlist_pages = 2\n'
        '[store]\nreader = "jsonl"\npath = "out.jsonl"\nkey = "sku"\n'
    )
    command = f"{sys.executable} -m killtest run {tmp_path} --controls 1 & wait $!"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (told,) = tmp_path.glob("results/*/trials/*/incarnation-0.stdout")
    assert "default_int_handler" in told.read_text()


def test_nothing_outlives_a_killed_harness(isolated: str, span: str, tmp_path: Path) -> None:
    before = f"subprocess.Popen(['setsid', 'sleep', '{span}'])\nopen('up', 'w').close()\ntime.sleep(600)"
    crawler(tmp_path, before)
    script = f"""
        import sys
        from pathlib import Path
        from subjects import SMALL, StoreNeeds, Subject
        from killtest.conduct import trial
        from killtest.plan.campaign import Planned
        from killtest.plan.schedule import Schedule
        needs = StoreNeeds("jsonl", "out.jsonl", key="sku")
        who = Subject("tiny", ("{{python}}", "crawl.py"), needs, folder={str(tmp_path)!r})
        trial.run(Planned(who, Schedule("s")), SMALL, Path({str(tmp_path / "trial")!r}))
        """
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    harness = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], env=env)
    up = tmp_path / "trial" / "store" / "up"
    _wait_until(up.exists)
    below = psutil.Process(harness.pid).children(recursive=True)
    assert len(below) >= 3
    harness.kill()
    harness.wait()
    _, alive = psutil.wait_procs(below, timeout=20)
    assert not alive
    _wait_until(lambda: not _sleepers(span))
    told = read(tmp_path / "trial" / "history.jsonl")[0]
    assert told["isolated"] is (isolated == "namespaces")


def _wait_until(holds: object, deadline_s: float = 20.0) -> None:
    ends_s = time.monotonic() + deadline_s
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends_s, "waited too long"
        time.sleep(0.01)  # files and processes of others offer nothing to wait on


def test_setup_runs_once_and_its_failure_is_ours_to_say(tmp_path: Path) -> None:
    who = crawler(tmp_path)
    sound = replace(who, setup=(("sh", "-c", "echo set-up >> setup.txt"),))
    run(sound, "request:2 KILL", tmp_path=tmp_path)
    assert (tmp_path / "trial" / "store" / "setup.txt").read_text() == "set-up\n"
    with pytest.raises(HarnessFailure, match="setup 'false' of tiny: 1"):
        run(replace(who, setup=(("false",),)), tmp_path=tmp_path)


def test_starts_again_after_a_trial_with_faults_are_on_record_and_not_judged(tmp_path: Path) -> None:
    planned = Planned(crawler(tmp_path), Schedule("s", ("request:4 KILL",)), again=2)
    evidence = trial.run(planned, SMALL, tmp_path / "trial")
    answer = verdict.judge(evidence)
    line = trial_line.to_line(planned, "c", answer, evidence)
    # Every start appends: two rows before the kill, six behind it, and six more with each start again.
    assert line["data"]["rows_after"] == (2, 8, 14, 20)
    assert (line["data"]["rows"], line["data"]["extra_rows"], line["data"]["not_idempotent"]) == (8, 2, None)
    assert (line["traffic"]["requests"], line["ending"], line["outcome"]) == (12, "finished", "FAIL")
    starts = [(one["number"], one["again"], one["requests"], one["ended_by"]) for one in line["incarnations"]]
    assert starts == [(0, False, 4, "fault"), (1, False, 8, "itself"), (2, True, 8, "itself"), (3, True, 8, "itself")]


def test_subject_that_did_not_finish_is_not_started_again(tmp_path: Path) -> None:
    evidence, _ = run(program(tmp_path, "raise SystemExit(1)"), "request:1 KILL", tmp_path=tmp_path, again=2)
    assert [one.is_again for one in evidence.course.incarnations] == [False] * 3


def test_program_that_is_no_program_is_a_usage_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x00\x01no program")
    broken.chmod(0o755)
    with pytest.raises(UsageError, match="can't execute"):
        run(replace(crawler(tmp_path), command=("./broken",)), tmp_path=tmp_path)


def test_restart_command_is_used_from_the_second_start(tmp_path: Path) -> None:
    who = replace(crawler(tmp_path, after="print(sys.argv[1:])"), restart=("{python}", "crawl.py", "--resume"))
    run(who, "request:2 KILL", tmp_path=tmp_path)
    assert (tmp_path / "trial" / "incarnation-1.stdout").read_text() == "['--resume']\n"
