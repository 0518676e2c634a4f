"""Edits of a running subject's code: in a copy of its own, at the moment of the trigger, undone where that is meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from killtest.campaigns.story import Story
from killtest.conduct.history import read
from killtest.conduct.stage import RealStage
from killtest.errors import UsageError
from killtest.plan import manifest
from killtest.plan.manifest import Subject
from killtest.plan.suitability import check_faults
from killtest.reload import code_copy
from msgspec.structs import replace
from subjects import FAST, SMALL, program
from trials import run

# Before each product it runs the rule in the file beside it anew, and stores with what revision it was made. Broken
# code is waited for: the file is mended some time.
READER = """
import json, os, pathlib, re, time, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
spider = pathlib.Path(__file__).with_name("spiders") / "shop.py"
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()
def rule():
    while True:
        found = {}
        try:
            exec(compile(spider.read_bytes(), str(spider), "exec"), found)
            return found
        except SyntaxError:
            pathlib.Path("broken").touch()
            time.sleep(0.01)
for number in range(1, 7):
    now = rule()
    sku = now["sku"](get(f"/product/{number}"))
    with open("out.jsonl", "a") as out:
        stored = {"sku": sku, "revision": now["REVISION"], "instance": os.environ["KILLTEST_INSTANCE"]}
        out.write(json.dumps(stored) + "\\n")
"""
SPIDER = """import re
REVISION = 1
def sku(text):
    return re.search(r'class="sku">([^<]+)<', text)[1]
"""


def reader(folder: Path, text: str = READER) -> Subject:
    (folder / "spiders").mkdir()
    (folder / "spiders" / "shop.py").write_text(SPIDER)
    return replace(program(folder, text), reload=("spiders/*.py",))


def told(folder: Path, event: str) -> list[dict[str, object]]:
    return [entry for entry in read(folder / "trial" / "history.jsonl") if entry["event"] == event]


def test_a_change_is_made_while_the_request_is_held_and_in_the_copy_alone(isolated: str, tmp_path: Path) -> None:
    evidence, verdict = run(reader(tmp_path), "request:3 reload:change", "request:5 reload:change", tmp_path=tmp_path)
    rows = evidence.course.snapshots[0].rows
    # The rule of a product is read before its page: the third was made by the code from before the change.
    assert [row.values["revision"] for row in rows] == [1, 1, 1, 2, 2, 3]
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck"]
    assert [(one.instance, one.revision) for one in evidence.course.revisions] == [(0, 2), (0, 3)]
    assert [one.ended_by for one in evidence.course.incarnations] == ["itself"]
    assert verdict.outcome == "PASS"
    assert verdict.data is not None
    assert verdict.data.old_code == {}
    assert (tmp_path / "spiders" / "shop.py").read_text() == SPIDER
    entry = told(tmp_path, "reloaded")[0]
    assert (entry["kind"], entry["files"], entry["revision"]) == ("change", ["spiders/shop.py"], 2)


def test_rows_of_a_subject_that_never_reads_its_code_again_are_of_old_code(tmp_path: Path) -> None:
    once = READER.replace("    now = rule()\n", "").replace("for number in", "now = rule()\nfor number in")
    _, verdict = run(reader(tmp_path, once), "request:3 reload:change", tmp_path=tmp_path)
    assert verdict.outcome == "PASS"  # a cost
    assert verdict.data is not None
    assert list(verdict.data.old_code) == ["SKU-00004", "SKU-00005", "SKU-00006"]
    assert verdict.data.old_code_s is not None


def test_broken_code_is_mended_and_the_next_fault_waits_for_that(tmp_path: Path) -> None:
    evidence, _ = run(
        reader(tmp_path), "request:2 reload:broken+mended@0.4", "request:4 KILL", "1/request:1 KILL", tmp_path=tmp_path
    )
    broken, mended = told(tmp_path, "reloaded")
    assert (broken["kind"], mended["kind"]) == ("broken", "mended")
    assert mended["t_s"] - broken["t_s"] >= 0.4  # type: ignore[operator]
    assert (tmp_path / "trial" / "store" / "broken").exists()  # the subject saw it
    assert (tmp_path / "trial" / "code" / "0" / "spiders" / "shop.py").read_text() == SPIDER
    assert evidence.course.faults[1].t_s > mended["t_s"]  # type: ignore[operator]
    assert [fault.status for fault in evidence.course.faults] == ["struck", "struck", "struck"]


def test_code_stays_broken_across_a_death_and_is_mended_in_the_next_incarnation(tmp_path: Path) -> None:
    impatient = READER.replace("time.sleep(0.01)", "os._exit(4)")
    who = replace(reader(tmp_path, impatient), limits=replace(FAST, restarts=200, total_s=30))
    evidence, _ = run(who, "request:2 reload:broken+mended@0.5", tmp_path=tmp_path)
    assert evidence.course.self_deaths >= 1
    assert [entry["kind"] for entry in told(tmp_path, "reloaded")] == ["broken", "mended"]
    assert told(tmp_path, "reloaded")[1]["incarnation"] != 0
    assert evidence.course.ending == "finished"


def test_code_is_mended_although_the_subject_finished_first(tmp_path: Path) -> None:
    run(reader(tmp_path), "request:6 reload:broken+mended@60", tmp_path=tmp_path)
    assert [entry["kind"] for entry in told(tmp_path, "reloaded")] == ["broken", "mended"]
    assert (tmp_path / "trial" / "code" / "0" / "spiders" / "shop.py").read_text() == SPIDER


def test_touch_and_whitespace_are_seen_by_their_own_signs(tmp_path: Path) -> None:
    who = reader(tmp_path)
    code_copy.make(tmp_path, tmp_path / "copy")
    path = tmp_path / "copy" / "spiders" / "shop.py"
    os.utime(path, (1, 1))
    path.chmod(0o640)
    assert code_copy.apply("touch", tmp_path / "copy", who.reload).files == ("spiders/shop.py",)
    assert path.stat().st_mtime > 1
    assert path.read_text() == SPIDER
    node = path.stat().st_ino
    code_copy.apply("whitespace", tmp_path / "copy", who.reload)
    assert path.read_text() == SPIDER + "\n"
    # Another file under the same name, as an editor leaves it, with the old one's mode and nothing beside it.
    assert path.stat().st_ino != node
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["shop.py"]


def test_a_copy_holds_the_code_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ours = ("results/old", "deep/out/campaign.toml", "deep/out/trials/x", "t/schedule.json", "t/history.jsonl")
    for name in ("a.py", "deep/results/b.py", "__pycache__/a.pyc", ".git/HEAD", "deep/.venv/x", ".env", *ours):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()
    copy = source / "deep" / "copy"
    code_copy.make(source, copy)
    kept = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert kept == {"a.py", "deep/results/b.py", ".env"}


def test_words_name_files_of_the_copy_in_which_no_bytecode_appears(tmp_path: Path) -> None:
    (tmp_path / "tool.py").touch()
    ask = "import pathlib, sys; pathlib.Path('setup').write_text(sys.argv[1] + ' ' + sys.argv[2])"
    who = replace(reader(tmp_path, f"import tool\n{READER}"), env={"WHO": "number {instance}"})
    who = replace(who, setup=(("{python}", "-c", ask, "spiders/shop.py", "{instance}"),))
    evidence, _ = run(who, "request:3 reload:change", tmp_path=tmp_path)
    assert {row.values["instance"] for row in evidence.course.snapshots[0].rows} == {"0"}
    code = tmp_path / "trial" / "code" / "0"
    assert (tmp_path / "trial" / "store" / "setup").read_text() == f"{code / 'spiders' / 'shop.py'} 0"
    assert told(tmp_path, "stage")[0]["env"]["WHO"] == "number 0"  # type: ignore[index]
    assert not list(code.rglob("__pycache__"))


def test_each_instance_has_its_own_code_and_knows_which_it_is(tmp_path: Path) -> None:
    stage = RealStage(replace(reader(tmp_path), instances=2), SMALL, tmp_path / "trial")
    try:
        order, code = stage.order(0, instance=1), tmp_path / "trial" / "code"
        assert order.argv[1] == str(code / "1" / "crawl.py")
        assert order.env["KILLTEST_INSTANCE"] == "1"
        assert stage.edit("change", 1).revision == 2
        assert (code / "0" / "spiders" / "shop.py").read_text() == SPIDER
        assert "REVISION = 2" in (code / "1" / "spiders" / "shop.py").read_text()
    finally:
        stage.close()


def test_no_fault_strikes_between_the_steps_of_an_edit(tmp_path: Path) -> None:
    faults = ("request:2 reload:touch+whitespace@0.5", "request:3 KILL")
    evidence, _ = run(reader(tmp_path), *faults, tmp_path=tmp_path)
    last = told(tmp_path, "reloaded")[1]
    killed_s = evidence.course.faults[1].t_s  # None when the crawl was over by then
    assert last["kind"] == "whitespace"
    assert killed_s is None or killed_s > last["t_s"]  # type: ignore[operator]


def test_what_a_subject_can_not_have_is_refused_before_anything_starts(tmp_path: Path) -> None:
    who = reader(tmp_path)
    with pytest.raises(UsageError, match=r"tiny declares no reload files \(reload = \[\.\.\.\] in its manifest\)"):
        check_faults(["request:1 reload:touch"], replace(who, reload=()), SMALL, "here")
    check_faults(["request:1 reload:change"], who, SMALL, "here")
    (tmp_path / "spiders" / "shop.py").write_text("revision = 1\n")
    check_faults(["request:1 reload:touch"], who, SMALL, "here")
    with pytest.raises(UsageError, match=r"no reload file of tiny has one \(spiders/\*\.py\)"):
        check_faults(["request:1 reload:change"], who, SMALL, "here")


def test_the_story_tells_edits_and_services(capsys: pytest.CaptureFixture[str]) -> None:
    story = Story()
    facts = {"t_s": 1.0, "incarnation": 0}
    edit = facts | {"event": "reloaded", "instance": 1, "kind": "change", "files": ["a.py"], "revision": 3}
    story.heard("x", edit)
    story.heard("x", facts | {"event": "service", "name": "valkey", "action": "KILL", "pid": 7})
    said = capsys.readouterr().err
    assert "reload:change in a.py of instance 1: revision 3" in said
    assert "the service valkey is killed (pid 7)" in said


def test_a_run_with_changed_limits_can_be_repeated_from_its_own_manifest(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    who = reader(tmp_path / "mine")
    (tmp_path / "mine" / "subject.toml").write_text(
        'name = "tiny"\ncommand = ["{python}", "crawl.py"]\nreload = ["spiders/*.py"]\n'
        '[store]\nreader = "jsonl"\npath = "out.jsonl"\nkey = "sku"\n'
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it(killtest):\n"
        '    verdict = killtest("mine", faults=["request:3 reload:change"], limits={"total_s": 20},\n'
        '                       site={"products": 6, "list_pages": 2})\n'
        '    print("FOLDER", verdict.folder, verdict.line["faults"][0]["status"])\n'
        "    assert 0\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    place = next(line for line in done.stdout.splitlines() if line.startswith("FOLDER")).split()
    assert place[2] == "struck"
    again = manifest.load(Path(place[1]) / "subject" / "subject.toml")
    assert (again.command, again.reload, again.limits.total_s) == (who.command, who.reload, 20)
