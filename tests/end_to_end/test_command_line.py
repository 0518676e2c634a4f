"""The command as a user types it: exit codes, messages, JSON, and what is left behind."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SITE = ["--site", "products=6", "--site", "list_pages=2"]


def killtest(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=os.environ | (env or {}), timeout=100, check=False
    )


def test_pass_is_0_and_told_as_a_story(tmp_path: Path) -> None:
    done = killtest("run", "idempotent:short_lease", *SITE, "--fault", "request:3 KILL", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "SIGKILL to 1 process; /product/2" in done.stderr
    assert done.stdout.startswith("PASS  idempotent  6 of 6 products in 6 rows")


def test_fail_is_1_and_its_reproduce_command_fails_the_same_way(tmp_path: Path) -> None:
    done = killtest("run", "naive", *SITE, "--fault", "request:3 KILL", cwd=tmp_path)
    assert done.returncode == 1
    command = re.search(r"reproduce: killtest (.*)", done.stdout)
    assert command is not None
    words = ["sh", "-c", f"{sys.executable} -m killtest {command[1]}"]
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_reproduce_by_a_stored_campaign(tmp_path: Path) -> None:
    faults = [word for n in (2, 3, 2, 3) for word in ("--fault", f"request:{n} KILL")]
    done = killtest("run", "append_jsonl", *SITE, *faults, cwd=tmp_path)
    command = re.search(r"reproduce: killtest (.*)", done.stdout)
    assert command is not None
    assert "campaign.toml#" in command[1]
    words = ["sh", "-c", f"{sys.executable} -m killtest {command[1]}"]
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_stored_schedule_runs_again(tmp_path: Path) -> None:
    killtest("run", "naive", *SITE, "--fault", "request:3 KILL", cwd=tmp_path)
    (stored,) = tmp_path.glob("results/*/trials/naive--request-3-KILL/schedule.json")
    done = killtest("run", "naive", *SITE, "--schedule", str(stored), "--controls", "0", cwd=tmp_path)
    assert done.returncode == 1
    assert "request:3 KILL: struck incarnation 0" in done.stdout


def test_unknown_is_3_when_no_kill_struck(tmp_path: Path) -> None:
    done = killtest("run", "naive", *SITE, "--fault", "request:900 KILL", "--json", cwd=tmp_path)
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert (told["outcome"], told["faults"][0]["status"]) == ("UNKNOWN", "not_reached")


def test_run_without_fault_is_the_control(tmp_path: Path) -> None:
    done = killtest("run", "naive", *SITE, "--json", cwd=tmp_path)
    assert done.returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "results/run-naive-001/trials.jsonl").read_text().splitlines()]
    assert [(one["control"], one["traffic"]["requests"], one["data"]["rows"]) for one in lines] == [(True, 8, 6)] * 2
    assert lines[0]["data"]["not_idempotent"] is True


def test_command_without_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "crawl.sh").write_text(
        "for p in 1 2 3 4 5 6; do python3 -c \"import urllib.request as u; u.urlopen('$1/product/$p').read()\"\n"
        'printf \'{"sku": "SKU-%05d"}\\n\' $p >> out.jsonl; done\n'
    )
    command = ["--store", "jsonl:out.jsonl", "--key", "sku", "--", "sh", "crawl.sh", "{site_url}"]
    done = killtest("run", *SITE, "--fault", "request:3 KILL", *command, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "2 duplicated" in done.stdout
    assert done.stdout.rstrip().endswith("-- sh crawl.sh '{site_url}'")


def test_table_with_a_header_on_every_start_without_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "crawl.sh").write_text(
        "printf 'sku\\tn\\n' >> out.tsv\n"
        "for p in 1 2 3 4 5 6; do python3 -c \"import urllib.request as u; u.urlopen('$1/product/$p').read()\"\n"
        "printf 'SKU-%05d\\t1\\n' $p >> out.tsv; done\n"
    )
    store = ["--store", "csv:out.tsv", "--key", "sku", "--delimiter", "\\t"]
    command = [*store, "--json", "--", "sh", "crawl.sh", "{site_url}"]
    done = killtest("run", *SITE, "--fault", "request:3 KILL", *command, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    line = json.loads(done.stdout)
    assert (line["data"]["rows"], line["data"]["extra_rows"]) == (8, 2)
    assert line["data"]["corrupted"]["keys"] == {"line 4": "the header again"}
    assert shlex.join(store) in line["reproduce"]


BAD_MANIFEST = '[store\nreader = "jsonl"\n'


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "nobody"], "unknown subject 'nobody'"),
        (["run"], "name one subject"),
        (["run", "naive", "--fault", "request:5 KLL"], 'unknown action "KLL"'),
        (["run", "naive", "--site", "colour=red"], "--site 'colour=red': wants KEY=VALUE"),
        (["run", "naive", "--site", "products=many"], "--site 'products=many'"),
        (["run", "naive", "--schedule", "nowhere.json"], "nowhere.json: No such file"),
        (["run", "naive", "--schedule", "old.json"], "old.json: schedule of schema 0, this killtest reads 1"),
        (["run", "bad.toml"], "bad.toml: not TOML: Expected ']' at the end of a table declaration (at line 1"),
        (["run", "--store", "jsonl:out.jsonl", "--key", "sku"], "no command"),
        (["run", "--store", "jsonl:o", "--key", "k", "--", "no-such-program"], "can't execute 'no-such-program'"),
        (["run", "naive", "--no-such-flag"], "No such option"),
        (["bench", "nothing"], "unknown campaign 'nothing'"),
        (["judge", "nowhere"], "nowhere/trials.jsonl: No such file"),
        (["report", "nowhere"], "nowhere/trials.jsonl: No such file"),
        (["frobnicate"], "No such command"),
        (["run", "naive", "--key", "sku"], "--key and --query go with --store"),
        (["run", "naive", "--site", "products=3"], "list_pages = 25 with products = 3"),
        (["run", "naive", "--results", "bad.toml"], "bad.toml: File exists; give another folder for results"),
        (["bench", "article", "--results", "bad.toml"], "give another --results"),
        (["run", "--store", "jsonl:o", "--key", "k", "--", "{nope}"], "can't execute '{nope}'"),
        (["run", "naive", "--fault", "request:9999 bump:/product/501"], "/product/501 shows no product of this shop"),
    ],
)
def test_bad_input_is_one_clear_line_and_2(words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(BAD_MANIFEST)
    (tmp_path / "old.json").write_text('{"schema": 0, "name": "x", "faults": []}')
    done = killtest(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("results/*")), "a mistake left a campaign behind"


@pytest.mark.parametrize(
    ("store", "complaint"),
    [
        ("jsonl:elsewhere.jsonl", "its store jsonl:elsewhere.jsonl never appeared, but it ended with 0"),
        ("sqlite:empty.db", "its store sqlite:empty.db never appeared"),
    ],
)
def test_store_that_never_appears_is_one_clear_line_and_2(store: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "crawl.sh").write_text("echo '{}' > out.jsonl; : > empty.db\n")
    options = ["--key", "sku"] if store.startswith("jsonl") else ["--query", "SELECT sku AS key FROM products"]
    done = killtest("run", *SITE, "--store", store, *options, "--", "sh", "crawl.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "store/out.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("store", "text", "complaint"),
    [
        ("jsonl:o", '{"art": "A", "price": 1}', "store o: no column 'sku', only art, price; see "),
        ("json:o", '[{"art": "A"}]', "store o: no column 'sku', only art; see "),
        ("csv:o", "art,price", "store o: no column 'sku', only art, price; see "),
    ],
)
def test_key_that_no_row_has_is_one_clear_line_and_2(store: str, text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "crawl.sh").write_text(f"echo '{text}' > o\n")
    done = killtest("run", *SITE, "--store", store, "--key", "sku", "--", "sh", "crawl.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_reader_of_our_output_that_leaves_makes_no_verdict(tmp_path: Path) -> None:
    line = f"{sys.executable} -m killtest run naive {' '.join(SITE)} 2>&1 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] in ("0", "141")
    (ledger,) = tmp_path.glob("results/*/trials.jsonl")
    assert [json.loads(text)["outcome"] for text in ledger.read_text().splitlines()] == ["PASS", "PASS"]


def test_port_in_use_is_one_line_and_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = killtest("site", "--port", str(port), cwd=tmp_path)
    assert done.returncode == 2
    assert str(port) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_windows_is_told_so(tmp_path: Path) -> None:
    script = "import sys; sys.platform = 'win32'; from killtest.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Windows is not supported" in done.stderr
    assert "Traceback" not in done.stderr


def test_site_serves_until_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "killtest", "site", *SITE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as site:
        assert site.stdout is not None
        assert site.stderr is not None
        ready = json.loads(site.stdout.readline())
        assert ready["minimum"] == 8
        site.send_signal(signal.SIGINT)
        assert site.wait(20) == 0
        assert "Traceback" not in site.stderr.read()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_harness_ends_all_it_started(number: signal.Signals, code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "killtest", "run", "naive", "--site", "latency_ms=50"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stderr is not None
        for line in harness.stderr:
            if "incarnation 0 starts" in line:
                break
        harness.send_signal(number)
        rest = harness.stderr.read()
        assert harness.wait(20) == code
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert rest.endswith(f"killtest: {word}\n")  # a run starts anew
    assert "Traceback" not in rest
    assert not _processes_in(tmp_path)


def _processes_in(folder: Path) -> list[str]:
    done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if str(folder) in line and "pytest" not in line.split()[0]]


def test_judge_says_the_same_again_and_changes_nothing(tmp_path: Path) -> None:
    killtest("run", "naive", *SITE, "--fault", "request:3 KILL", cwd=tmp_path)
    folder = tmp_path / "results" / "run-naive-001"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = killtest("judge", str(folder), cwd=tmp_path)
    assert done.returncode == 1
    assert "FAIL     naive--request-3-KILL\n" in done.stdout
    assert "3 of 3 trials had evidence" in done.stdout
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    for name in ("snapshot.jsonl", "site.jsonl"):
        path = folder / "trials/naive--request-3-KILL" / name
        path.write_bytes(b"".join(before[path].splitlines(keepends=True)[:-1]))
        done = killtest("judge", str(folder), cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "no complete evidence" in done.stderr
        path.write_bytes(before[path])


def test_list_names_subjects_and_campaigns(tmp_path: Path) -> None:
    told = json.loads(killtest("list", "--json", cwd=tmp_path).stdout)
    assert {one["name"] for one in told["subjects"]} >= {
        "naive",
        "idempotent",
        "scrapy_jobdir",
        "scrapy_durable",
        "append_jsonl",
        "reload_queue",
    }
    assert {one["name"] for one in told["campaigns"]} == {
        "article",
        "comparison",
        "jobdir",
        "mixed",
        "mtbf",
        "quick",
        "reload",
    }
    said = killtest("list", cwd=tmp_path).stdout
    assert re.search(r"^idempotent +\S.*\n +:short_lease", said, re.MULTILINE)
    assert max(map(len, said.splitlines())) < 120


def test_files_without_a_manifest_and_their_reproduce_command(tmp_path: Path) -> None:
    (tmp_path / "crawl.py").write_text(
        "import sys, urllib.request as u\n"
        "for n in range(1, 7):\n"
        "    with open(f'{n}.html', 'wb') as out:\n"
        "        out.write(u.urlopen(f'{sys.argv[1]}/product/{n}').read())\n"
        "        n == 2 and out.truncate(9)\n"
    )
    key = ["--key", 'class="sku">([^<]+)<', "--key-from", "content"]
    crawl = ["--", sys.executable, "crawl.py", "{site_url}"]
    done = killtest("run", "--store", "files:*.html", *key, *SITE, "--controls", "1", *crawl, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "corrupted: 2.html (no key)" in done.stdout
    assert "--key 'class=\"sku\">([^<]+)<' --key-from content" in done.stdout
