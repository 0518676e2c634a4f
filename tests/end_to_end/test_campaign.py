"""Whole campaigns by the command line: complete, repeatable, resumable, and true to what they promise."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

SMALL = """
name = "small"
seed = "7"
subjects = {subjects}
[site]
products = 12
list_pages = 3
[[schedules]]
group = "held"
{rule}
"""
DRAWN = "trials = 2\nkills = 3\nbetween = [1, 8]\nsignals = ['KILL', 'INT']\norder = 'drawn'"


def write(folder: Path, subjects: list[str], rule: str = DRAWN) -> None:
    (folder / "small.toml").write_text(SMALL.format(subjects=json.dumps(subjects), rule=rule))


def bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "bench", "small.toml", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)


def lines(folder: Path) -> list[dict[str, Any]]:
    ledger = folder / "results" / "small" / "trials.jsonl"
    return [json.loads(line) for line in ledger.read_text().splitlines()]


def test_campaign_keeps_what_the_issue_promises(tmp_path: Path) -> None:
    write(tmp_path, ["naive", "append_jsonl", "idempotent:short_lease"])
    done = bench(tmp_path)
    assert done.returncode == 0, done.stderr
    found = lines(tmp_path)
    assert len(found) == 3 * (2 + 2)
    for line in found:
        rows_after, struck = line["data"]["rows_after"], [f for f in line["faults"] if f["status"] != "not_reached"]
        if line["control"]:
            assert (line["outcome"], line["data"]["rows"], line["traffic"]["requests"]) == ("PASS", 12, 15)
        elif line["subject"] == "idempotent":
            assert (line["outcome"], line["data"]["rows"]) == ("PASS", 12)
            assert line["data"]["corrupted"]["count"] == 0
            assert line["traffic"]["requests"] <= 15 + len(struck)
        else:
            assert line["data"]["rows"] == 12 + rows_after[-2]
    again = [line["data"]["not_idempotent"] for line in found if line["schedule"]["name"] == "control-1"]
    assert again == [True, True, False]
    assert "naive" in (tmp_path / "results/small/summary.md").read_text()
    assert (tmp_path / "results/small/figures/comparison.png").stat().st_size > 10_000


def test_same_file_and_seed_give_the_same_schedules_byte_for_byte(tmp_path: Path) -> None:
    stored = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        write(folder, ["naive"])
        bench(folder)
        stored.append((folder / "results/small/campaign.toml").read_bytes())
    assert stored[0] == stored[1]
    assert stored[0].count(b"[[drawn]]") == 2


def test_held_requests_give_identical_request_counts_ten_times_of_ten(tmp_path: Path) -> None:
    rule = 'trials = 10\nfaults = ["request:7 KILL", "request:4 KILL", "request:/product/9 INT"]'
    subjects = ["naive", "append_jsonl", "idempotent:short_lease"]
    write(tmp_path, subjects, rule)
    bench(tmp_path)
    counts: dict[str, set[int]] = {}
    for line in lines(tmp_path):
        if not line["control"]:
            counts.setdefault(line["subject"], set()).add(line["traffic"]["requests"])
    assert {subject: len(different) for subject, different in counts.items()} == dict.fromkeys(
        ("naive", "append_jsonl", "idempotent"), 1
    )


def test_killed_harness_goes_on_where_it_was(tmp_path: Path) -> None:
    write(tmp_path, ["naive", "append_jsonl"])
    command = [sys.executable, "-m", "killtest", "bench", "small.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as harness:
        assert harness.stderr is not None
        for line in harness.stderr:
            if line.startswith("[3/"):
                break
        below = psutil.Process(harness.pid).children(recursive=True)
        os.kill(harness.pid, signal.SIGKILL)
    before = (tmp_path / "results/small/trials.jsonl").read_bytes()
    done = bench(tmp_path)
    assert done.returncode == 0, done.stderr
    assert " finished before" in done.stderr
    after = (tmp_path / "results/small/trials.jsonl").read_bytes()
    assert after.startswith(before)
    ids = [line["id"] for line in lines(tmp_path)]
    assert len(ids) == len(set(ids)) == 2 * (2 + 2)
    assert not psutil.wait_procs(below, timeout=20)[1]


def test_finished_campaign_is_reported_again_and_fresh_starts_anew(tmp_path: Path) -> None:
    write(tmp_path, ["append_jsonl"])
    bench(tmp_path)
    before = (tmp_path / "results/small/trials.jsonl").read_bytes()
    done = bench(tmp_path)
    assert "4 trials, 4 finished before" in done.stderr
    assert (tmp_path / "results/small/trials.jsonl").read_bytes() == before
    bench(tmp_path, "--fresh")
    assert (tmp_path / "results/small.old-1/trials.jsonl").read_bytes() == before


def test_changed_campaign_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, ["append_jsonl"])
    bench(tmp_path)
    write(tmp_path, ["append_jsonl"], DRAWN + "\n# changed")
    done = bench(tmp_path)
    assert done.returncode == 2
    assert "start anew with --fresh" in done.stderr


def test_folder_of_a_trial_that_was_not_finished_is_removed(tmp_path: Path) -> None:
    write(tmp_path, ["append_jsonl"])
    bench(tmp_path)
    (tmp_path / "results/small/trials/half").mkdir()
    (tmp_path / "results/small/trials/a-file").touch()
    assert bench(tmp_path).returncode == 0
    assert not (tmp_path / "results/small/trials/half").exists()


def test_subject_by_a_path_beside_the_campaign_file_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    manifest = 'name = "mine"\ncommand = ["sh", "crawl.sh"]\n[store]\nreader = "jsonl"\npath = "o.jsonl"\nkey = "sku"\n'
    (tmp_path / "mine" / "subject.toml").write_text(manifest)
    (tmp_path / "mine" / "crawl.sh").write_text('echo \'{"sku":"x"}\' > o.jsonl\n')
    write(tmp_path, ["mine"], "trials = 1")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "killtest", "bench", "../small.toml"]
    assert subprocess.run(command, cwd=elsewhere, capture_output=True, timeout=110, check=False).returncode == 0


def test_report_makes_the_same_summary_again_in_both_languages(tmp_path: Path) -> None:
    write(tmp_path, ["naive"])
    bench(tmp_path)
    summary = tmp_path / "results/small/summary.md"
    first = summary.read_bytes()
    command = [sys.executable, "-m", "killtest", "report", "results/small"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert summary.read_bytes() == first
    done = subprocess.run([*command, "--lang", "zh"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert summary.read_bytes() == first
    assert summary.with_name("summary.zh.md").read_bytes() != first
    assert "爬虫" in done.stdout


def test_kills_at_a_constant_rate_by_the_command_line_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "killtest", "bench", "--mtbf", "0.4", "append_jsonl", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    found = [line for line in json.loads(done.stdout)["trials"] if not line["control"]]
    assert {line["schedule"]["group"] for line in found} == {"mtbf-0.4"}
    assert all(fault.startswith("after:") for line in found for fault in line["schedule"]["faults"])
    assert all("--total-s 12" in line["reproduce"] for line in found)
    folder = tmp_path / "results" / "mtbf"
    assert "Completion by mean time between kills" in (folder / "summary.md").read_text()
    assert (folder / "index.html").is_file()
    kept = [line for line in found if line["evidence"]]
    assert all((folder / line["evidence"] / "index.html").is_file() for line in kept)


def test_a_campaign_or_means_and_nothing_between(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "killtest", "bench", "small.toml", "naive"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "name one campaign, or give --mtbf MEANS and the subjects" in done.stderr) == (2, True)


def test_total_s_bounds_a_single_run(tmp_path: Path) -> None:
    words = ["naive", "--total-s", "0.5", "--site", "latency_ms=200", "--controls", "1", "--json"]
    command = [sys.executable, "-m", "killtest", "run", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    line = json.loads(done.stdout)
    assert (done.returncode, line["ending"], line["cause"]) == (1, "out_of_time", "control")
    assert line["reproduce"].endswith("--total-s 0.5")
