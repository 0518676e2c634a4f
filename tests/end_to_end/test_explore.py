"""`killtest explore` as a user runs it: on crawlers with a gap, without one, and on a machine that can't."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from killtest.trace import seccomp

pytestmark = pytest.mark.skipif(bool(seccomp.refusal()), reason="this machine allows no seccomp notification")
SMALL = ("--site", "list_pages=1", "--site", "products=4")


def explore(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "explore", *words, "--results", str(tmp_path / "results")]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


def points(tmp_path: Path) -> list[dict]:  # type: ignore[type-arg]
    (log,) = (tmp_path / "results").glob("explore-*/points.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_sound_crawler_recovers_from_every_point(tmp_path: Path) -> None:
    done = explore(tmp_path, "zoo/popped-before-fetched:sound", *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("PASS  popped-before-fetched  0 of ")
    found = points(tmp_path)
    assert [point["k"] for point in found] == list(range(1, len(found) + 1))
    assert max(point["requests"] for point in found) <= 6  # five pages, and the one in flight again
    assert "note: A write is there whole or not at all" in done.stdout


def test_files_messages_counters_and_captures_survive_a_kill_at_every_step(tmp_path: Path) -> None:
    words = ("--site", "list_pages=1", "--site", "products=2")
    done = explore(tmp_path, "idempotent:effects", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("PASS  idempotent  0 of ")
    found = points(tmp_path)
    assert max(point["requests"] for point in found) <= 4  # three pages, and the one in flight again
    assert {"rename", "write"} <= {point["call"] for point in found if "images/" in (point["path"] or "")}


def test_gap_is_found_where_it_is_and_nowhere_else(tmp_path: Path) -> None:
    done = explore(tmp_path, "zoo/queue-file-rewritten-in-place", *SMALL, "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    failing = [point for point in points(tmp_path) if point["outcome"] == "FAIL"]
    # The file is empty between its opening and the write: the point before each such write, and no other.
    assert {(point["call"], point["path"]) for point in failing} == {("write", "queue.pickle")}
    assert len(failing) == told["failing"] == told["confirmed"] == 5
    assert all(point["confirmed"] for point in failing)


def test_reproduce_command_does_reproduce(tmp_path: Path) -> None:
    done = explore(tmp_path, "zoo/queue-file-rewritten-in-place", *SMALL, "--confirm", "1")
    line = next(line for line in done.stdout.splitlines() if "reproduce:" in line)
    words = line.split("reproduce: killtest ")[1]
    again = f"{sys.executable} -m killtest {words} --controls 1 --results {tmp_path}/again"
    assert subprocess.run(again, shell=True, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_crawler_that_fails_without_a_kill_is_a_usage_error(tmp_path: Path) -> None:
    done = explore(tmp_path, "zoo/reloader-runs-it-twice", *SMALL)
    assert done.returncode == 2
    assert "fails without any fault" in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_recording_that_does_not_explain_the_disk_is_not_trusted(tmp_path: Path) -> None:
    text = (
        "import mmap, os, re, urllib.request\n"
        "site = os.environ['KILLTEST_SITE_URL']\n"
        "page = urllib.request.urlopen(site + '/list/0').read().decode()\n"
        "with open('out.jsonl', 'a') as out:\n"
        "    for n in range(1, 5):\n"
        "        urllib.request.urlopen(f'{site}/product/{n}').read()\n"
        '        out.write(\'{"sku": "SKU-0000%d"}\\n\' % n)\n'
        "with open('state', 'w+b') as state:\n"
        "    state.truncate(4096)\n"
        "    mmap.mmap(state.fileno(), 4096)[:4] = b'done'\n"
    )
    (tmp_path / "crawl.py").write_text(text)
    command = ("--store", "jsonl:out.jsonl", "--key", "sku", "--", sys.executable, "crawl.py")
    done = explore(tmp_path, *SMALL, *command)
    assert "not trusted: state: replayed, it is not what lies on the disk" in done.stdout
    assert all(point["confirmed"] is not None for point in points(tmp_path) if point["trigger"])


@pytest.mark.parametrize(
    ("option", "stages"),
    [((), 1), ((), 2), (("--power",), 2), (("--errors",), 2)],
    ids=["recording", "states", "power", "errors"],
)
def test_interrupted_exploration_leaves_nothing_running(tmp_path: Path, option: tuple[str, ...], stages: int) -> None:
    command = [sys.executable, "-m", "killtest", "explore", "idempotent", *option, "--results", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = [process.stderr.readline() for _ in range(stages)]
        assert told[0] == "recording one undisturbed crawl\n"
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(2)
        process.stderr.read()
    assert process.returncode == 130
    assert psutil.wait_procs(below, timeout=10)[1] == []
    assert not list(tmp_path.glob("explore-*/bench-*"))


def test_without_seccomp_each_request_is_swept_instead_and_it_is_said(tmp_path: Path) -> None:
    # In a process of its own: a machine without it is stood for by its answer.
    text = (
        "from killtest.trace import seccomp; seccomp.refusal = lambda: 'not in this container'\n"
        "from killtest.cli.group import run_command_line; run_command_line()"
    )
    words = ["explore", "zoo/popped-before-fetched:sound", *SMALL, "--results", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", text, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not in this container. Instead each request is visited once" in done.stderr
    assert "0 of 10 kills fail" in done.stdout


def crawler(tmp_path: Path, *, head: str = "", each: str = "", tail: str = "") -> tuple[str, ...]:
    """A crawler of the four products that is sound but for what is put into it: the words that name it."""
    text = (
        "import os, sys, re, urllib.request\n"
        "site = os.environ['KILLTEST_SITE_URL']\n"
        f"{head}\n"
        "urllib.request.urlopen(site + '/list/0').read()\n"
        "for n in range(1, 5):\n"
        "    name = 'SKU-0000%d.json' % n\n"
        "    urllib.request.urlopen(f'{site}/product/{n}').read()\n"
        "    with open('new', 'w') as file: file.write('x')\n"
        "    os.replace('new', name)\n"
        f"    {each or 'pass'}\n"
        f"{tail}\n"
    )
    (tmp_path / "crawl.py").write_text(text)
    store = ("--store", "files:SKU*.json", "--key", r"(SKU-\d+)\.json$")
    return (*store, "--", sys.executable, "crawl.py")


@pytest.mark.parametrize(
    ("head", "doubt"),
    [
        ("import socket; door = socket.socket(socket.AF_UNIX); door.bind('ctl'); os.unlink('ctl')", "ctl is a socket"),
        ("os.mkfifo('pipe'); os.unlink('pipe')", "pipe is a special file"),
        (
            "import mmap; f = open('m', 'w+b'); f.truncate(9); mmap.mmap(f.fileno(), 9)[:1] = b'x'; os.unlink('m')",
            "m is written through shared memory",
        ),
        ("os.mkdir(b'caf\\xe9'); os.rmdir(b'caf\\xe9')", None),
    ],
)
def test_what_the_steps_do_not_tell_is_a_doubt_and_tried_by_true_kills(
    tmp_path: Path, head: str, doubt: str | None
) -> None:
    done = explore(tmp_path, *SMALL, *crawler(tmp_path, head=head))
    assert "killtest:" not in done.stderr, done.stderr
    assert doubt is None or f"{doubt}\n" in done.stdout
    assert ("not trusted:" in done.stdout) == (doubt is not None)


def test_point_whose_true_kill_did_not_strike_is_not_known(tmp_path: Path) -> None:
    # Untrusted, and its later runs take fewer steps: kills at the last ones find nobody.
    head = "import mmap; f = open('m', 'w+b'); f.truncate(9); mmap.mmap(f.fileno(), 9)[:1] = b'x'; os.unlink('m')"
    mark = repr(str(tmp_path / "mark"))
    once = f"if not os.path.exists({mark}): open({mark}, 'w'); open('extra', 'w')"
    done = explore(tmp_path, *SMALL, "--json", *crawler(tmp_path, head=head, tail=once))
    told = json.loads(done.stdout)
    assert (done.returncode, told["outcome"]) == (3, "UNKNOWN")
    assert told["unknown"] >= 1


def test_temporary_folder_is_empty_at_every_state(tmp_path: Path) -> None:
    head = "place = os.path.join(os.environ['TMPDIR'], 'lock'); os.mkdir(place)"
    done = explore(
        tmp_path,
        *SMALL,
        *crawler(tmp_path, head=head, tail="os.rmdir(place)"),
    )
    assert done.returncode == 0, done.stdout
    assert "TMPDIR" in done.stdout


def test_crawl_that_takes_several_starts_is_not_trusted(tmp_path: Path) -> None:
    head = "first = not os.path.exists('second'); open('second', 'w').close(); first and sys.exit(75)"
    done = explore(tmp_path, *SMALL, *crawler(tmp_path, head=head))
    assert "not trusted: the crawl took 2 starts" in done.stdout


ANNOUNCER = """
import json, os, re, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
def get(path):
    return urllib.request.urlopen(site + path).read().decode()
done = open("out.jsonl").read() if os.path.exists("out.jsonl") else ""
for path in re.findall(r'href="(/product/[0-9]+)"', get("/list/0")):
    record = {"sku": re.search(r'class="sku">([^<]+)<', get(path))[1]}
    if record["sku"] not in done:
        headers = {"Idempotency-Key": record["sku"]} if HAS_KEY else {}
        urllib.request.urlopen(urllib.request.Request(site + "/hook", json.dumps(record).encode(), headers)).read()
        with open("out.jsonl", "a") as out:
            out.write(json.dumps(record) + "\\n")
"""
ANNOUNCES = """
name = "announcer"
command = ["{python}", "crawl.py"]
[store]
reader = "jsonl"
path = "out.jsonl"
key = "sku"
[effects.webhooks]
key = "sku"
"""


@pytest.mark.parametrize("has_key", [False, True])
def test_webhooks_of_the_recording_and_of_the_recovery_count_together(has_key: bool, tmp_path: Path) -> None:
    (tmp_path / "subject.toml").write_text(ANNOUNCES)
    (tmp_path / "crawl.py").write_text(ANNOUNCER.replace("HAS_KEY", str(has_key)))
    done = explore(tmp_path, str(tmp_path / "subject.toml"), "--site", "list_pages=1", "--site", "products=2", "--json")
    failing = [point for point in points(tmp_path) if point["outcome"] == "FAIL"]
    if has_key:
        # The site that recovers has never seen the key; the judge has.
        assert (done.returncode, failing) == (0, []), done.stdout + done.stderr
    else:
        assert done.returncode == 1, done.stdout + done.stderr
        assert {(point["path"], str(point["findings"])) for point in failing} == {
            ("out.jsonl", "{'webhooks.twice': 1}")
        }
        assert json.loads(done.stdout)["confirmed"] == len(failing)
