"""`killtest gate` as CI runs it: exit codes, files, surprises, baselines, Ctrl-C with trials side by side."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

ROOT = Path(__file__).resolve().parents[2]
SITE = ["--site", "products=2", "--site", "list_pages=1"]
QUIET = {"GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""}
APPENDER = ["--store", "jsonl:out.jsonl", "--key", "sku", "--", "{python}", "crawl.py", "{site_url}"]
CAMPAIGN = """
name = "small"
subjects = ["{subject}"]
[site]
products = 2
list_pages = 1
[[schedules]]
group = "held"
{rule}
"""
EACH = "each = true\nbetween = [1, 3]"


def killtest(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=os.environ | QUIET | env, timeout=100, check=False
    )


def bench(folder: Path, subject: str, rule: str = EACH, *words: str) -> None:
    (folder / "small.toml").write_text(CAMPAIGN.format(subject=subject, rule=rule))
    done = killtest("bench", "small.toml", "--jobs", "2", *words, cwd=folder)
    assert done.returncode == 0, done.stderr


def copy(folder: Path, subject: str, **changes: str) -> None:
    """The subject's manifest in `folder`, with the crawler where it is and lines changed."""
    text = (ROOT / "crawlers" / subject / "subject.toml").read_text()
    text = text.replace('"crawl.py"', json.dumps(str(ROOT / "crawlers" / subject / "crawl.py")))
    for old, new in changes.items():
        text = re.sub(rf"^{old} = .*\n", "", text, flags=re.MULTILINE)
        text = new + "\n" + text
    folder.mkdir()
    (folder / "subject.toml").write_text(text)


def ledger(folder: Path, name: str = "gate-crawl") -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "results" / name / "trials.jsonl").read_text().splitlines()]


def test_sound_subject_passes_with_0_in_the_default_campaign(tmp_path: Path) -> None:
    done = killtest("gate", "idempotent:short_lease", *SITE, "--jobs", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["outcome"], told["breaches"], told["subjects"][0]["struck"]) == ("PASS", [], 12)
    folder = tmp_path / "results" / "gate-idempotent.short_lease"
    names = {line["schedule"]["name"] for line in ledger(tmp_path, folder.name) if not line["control"]}
    groups = ("held-KILL", "held-INT", "response-KILL", "response-INT")
    assert names == {f"{group}-{n}" for group in groups for n in (1, 2, 3)}
    assert [line["control"] for line in ledger(tmp_path, folder.name)[:2]] == [True, True]
    assert "0 bad of 12 trials: a rate below 25 %" in told["overall"]
    said = r"explored \d+ crash points between durable steps, \d+ distinct states: 0 fail"
    assert re.fullmatch(said, told["notes"][0])
    assert [str(path) for path in map(Path, told["files"])] == [
        f"results/{folder.name}/{name}" for name in ("gate.md", "benchmark.json", "junit.xml")
    ]


def test_failing_command_is_1_with_proof_and_all_files(tmp_path: Path) -> None:
    (tmp_path / "crawl.py").write_text((ROOT / "crawlers/append_jsonl/crawl.py").read_text())
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    (tmp_path / "summary.md").write_text("before\n")
    done = killtest("gate", *SITE, *APPENDER, cwd=tmp_path, **env)
    assert done.returncode == 1, done.stderr
    line = next(text for text in done.stdout.splitlines() if text.startswith("FAIL  crawl  duplicated"))
    found = re.search(r"in (crawl--\S+) and \d+ more; evidence: (\S+); reproduce: killtest (.*)$", line)
    assert found is not None, line
    assert (tmp_path / found[2] / "history.jsonl").is_file()
    again = ["sh", "-c", f"{sys.executable} -m killtest {found[3]}"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    assert re.search(r"^::error title=killtest gate%3A crawl%2C duplicated::FAIL", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-2].startswith("FAIL  gate-crawl  2 breaches; 13 kills struck; ")
    # Exploring found the gap between a row and the exit: tried by a true kill like the others.
    assert "explored 4 crash points between durable steps, 4 distinct states: 2 fail; 1 of them" in done.stdout
    folder = tmp_path / "results/gate-crawl"
    assert (tmp_path / "summary.md").read_text() == "before\n" + (folder / "gate.md").read_text()
    tree = etree.parse(folder / "junit.xml")
    etree.XMLSchema(etree.parse(ROOT / "tests/data/junit.xsd")).assertValid(tree)
    assert len(tree.findall(".//testcase")) == 15
    assert all("reproduce: killtest run" in (failure.text or "") for failure in tree.iter("failure"))
    assert json.loads((folder / "benchmark.json").read_text())[2]["name"] == "crawl: duplicated"
    budget = tmp_path / "budget.toml"
    budget.write_text("[default]\nrequests_over = false\n[subjects.crawl]\nduplicated = 24\n")
    judged = killtest("gate", "--budget", "budget.toml", "results/gate-crawl", cwd=tmp_path)
    assert judged.returncode == 0, judged.stdout
    assert "✅" in (folder / "gate.md").read_text()
    assert "::error" not in judged.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["gate"], "name one subject"),
        (["gate", "nobody"], "or give the path of a subject.toml; to judge a campaign, give its folder"),
        (["gate", "naive", "--budget", "nowhere.toml"], "nowhere.toml: No such file"),
        (["gate", "naive", "--budget", "bad.toml"], "bad.toml: default: "),
        (["gate", "naive", "--site", "colour=red"], "--site 'colour=red'"),
        (["gate", "naive", "--site", "products=2"], "list_pages = 3 with products = 2"),
        (["gate", "done", "--jobs", "2", "--site", "products=3"], "--site, --jobs can't change it"),
        (["gate", "done"], "done/trials.jsonl: No such file"),
    ],
)
def test_usage_is_2(words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[default]\nlots = 1\n")
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "campaign.toml").write_text(CAMPAIGN.format(subject="naive", rule=EACH))
    done = killtest(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_gate_in_which_no_kill_struck_is_3_and_writes_its_files(tmp_path: Path) -> None:
    bench(tmp_path, "naive", 'faults = ["request:900 KILL"]')
    done = killtest("gate", "results/small", "--annotations", cwd=tmp_path)
    assert done.returncode == 3
    assert "no kill struck: none of the kills planned in 1 trials struck" in done.stdout
    assert "::error title=" in done.stdout
    tree = etree.parse(tmp_path / "results/small/junit.xml")
    assert [error.get("type") for error in tree.iter("error")] == ["unknown", "no kill struck"]


def test_known_bad_example_passes_by_failing_and_surprises_by_passing(tmp_path: Path) -> None:
    copy(tmp_path / "mended", "idempotent", expect='expect = "FAIL"')
    copy(tmp_path / "worse", "append_jsonl", expect='expect = "PASS"')
    answers = {}
    for subject in ("append_jsonl", "mended:short_lease", "worse"):
        bench(tmp_path, subject, EACH, "--fresh")
        done = killtest("gate", "results/small", "--json", cwd=tmp_path)
        told = json.loads(done.stdout)
        answers[subject] = (done.returncode, [one["what"] for one in told["breaches"]])
    assert answers == {
        "append_jsonl": (0, []),
        "mended:short_lease": (1, ["surprise"]),
        "worse": (1, ["duplicated", "requests"]),
    }
    assert {line["expect"] for line in ledger(tmp_path, "small")} == {"PASS"}


def test_campaign_that_is_not_complete_is_3(tmp_path: Path) -> None:
    bench(tmp_path, "append_jsonl")
    path = tmp_path / "results/small/trials.jsonl"
    kept = [text for text in path.read_text().splitlines(keepends=True) if '"held-2"' not in text]
    path.write_text("".join(kept))
    done = killtest("gate", "results/small", cwd=tmp_path)
    assert done.returncode == 3
    assert "not run: 1 planned trials have not run: held-2 (1×)" in done.stdout


def test_baseline_missing_equal_and_of_zero(tmp_path: Path) -> None:
    bench(tmp_path, "idempotent:short_lease", "trials = 8\nbetween = [2, 3]")
    none = killtest("gate", "results/small", "--baseline", "results/main", cwd=tmp_path)
    assert none.returncode == 0, none.stdout
    assert "baseline results/main: not there yet; nothing is compared" in none.stdout
    same = killtest("gate", "results/small", "--baseline", "results/small", cwd=tmp_path)
    assert same.returncode == 0, same.stdout
    assert "requests  median ratio 1 [1–1] of 8 pairs" in same.stdout
    assert "lost  median difference 0 [0–0] of 8 pairs with baseline 0" in same.stdout
    lines = ledger(tmp_path, "small")
    for line in lines:
        line["traffic"]["repeated"] = 0
        line["traffic"]["requests"] -= 1
    (tmp_path / "results/better").mkdir()
    (tmp_path / "results/better/trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    worse = killtest("gate", "results/small", "--baseline", "results/better", cwd=tmp_path)
    assert worse.returncode == 1, worse.stdout
    assert "requests against the baseline: worse than the baseline" in worse.stdout
    assert "repeated  median difference 1 [1–1] of 8 pairs with baseline 0" in worse.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_side_by_side_ends_all_and_goes_on(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "crawl.py").write_text((ROOT / "crawlers/append_jsonl/crawl.py").read_text())
    words = ["gate", *SITE, "--jobs", "2", *APPENDER]
    command = [sys.executable, "-m", "killtest", *words]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stderr is not None
        for line in harness.stderr:
            if line.startswith("[4/"):
                break
        harness.send_signal(number)
        rest = harness.stderr.read()
        assert harness.wait(30) == code
    assert "the same command goes on where it was" in rest
    assert "Traceback" not in rest
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert [text for text in listed.splitlines() if str(tmp_path) in text and "pytest" not in text] == []
    path = tmp_path / "results/gate-crawl/trials.jsonl"
    before = path.read_bytes()
    assert {line["outcome"] for line in ledger(tmp_path)} <= {"PASS", "FAIL"}
    done = killtest(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"{len(before.splitlines())} finished before" in done.stderr
    assert path.read_bytes().startswith(before)
    ids = [line["id"] for line in ledger(tmp_path)]
    assert len(ids) == len(set(ids)) == 15


def test_half_a_gate_is_not_finished_with_another_program_and_a_whole_one_starts_anew(tmp_path: Path) -> None:
    crawler = tmp_path / "crawl.py"
    crawler.write_text((ROOT / "crawlers/append_jsonl/crawl.py").read_text())
    words = ["gate", *SITE, *APPENDER]
    assert killtest(*words, cwd=tmp_path).returncode == 1
    folder = tmp_path / "results/gate-crawl"
    first = (folder / "trials.jsonl").read_bytes()
    again = killtest(*words, cwd=tmp_path)
    assert "15 trials, 0 finished before" in again.stderr
    assert (tmp_path / "results/gate-crawl.old-1/trials.jsonl").read_bytes() == first
    (folder / "junit.xml").unlink()
    crawler.write_text(crawler.read_text() + "# changed\n")
    refused = killtest(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "start anew with --fresh" in refused.stderr
    assert killtest(*words[:1], "--fresh", *words[1:], cwd=tmp_path).returncode == 1


def test_gate_without_exploring_visits_requests_alone(tmp_path: Path) -> None:
    (tmp_path / "crawl.py").write_text((ROOT / "crawlers/append_jsonl/crawl.py").read_text())
    done = killtest("gate", "--no-explore", *SITE, *APPENDER, cwd=tmp_path)
    assert "12 kills struck" in done.stdout
    assert "explored" not in done.stdout
