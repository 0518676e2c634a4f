"""`killtest explore --power` on tiny crawlers, each weak in one way, and on a real ext4 where the machine allows it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from killtest.power import power_proof
from killtest.power.power_model import MODELS
from killtest.trace import seccomp

pytestmark = pytest.mark.skipif(bool(seccomp.refusal()), reason="this machine allows no seccomp notification")
SMALL = ("--site", "list_pages=1", "--site", "products=3")
REFUSAL = power_proof.refusal()
# Each crawler fetches what `is_done` does not know yet, and keeps it by `keep`.
HEAD = """
import json, os, urllib.request
site = os.environ["KILLTEST_SITE_URL"]

def synced(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)

def written(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)

def has(path, needle=""):
    return os.path.exists(path) and needle in open(path).read()
"""
TAIL = """
urllib.request.urlopen(site + "/list/0").read()
for n in range(1, 4):
    if not is_done(n):
        urllib.request.urlopen(f"{site}/product/{n}").read()
        keep(n, json.dumps({"sku": "SKU-%05d" % n}) + "\\n")
"""
SOUND = """
def is_done(n):
    return os.path.exists(f"{n}.json")

def keep(n, line):
    written("new", line)
    synced("new")
    os.rename("new", f"{n}.json")
    synced(".")
"""
RENAME_WITHOUT_FSYNC = """
def is_done(n):
    return has(f"{n}.json", "")  and os.path.getsize(f"{n}.json") > 0

def keep(n, line):
    written("new", line)
    os.rename("new", f"{n}.json")
"""
APPEND_WITHOUT_FSYNC = """
if has("all.json", "\\0"):
    os.truncate("all.json", 0)

def is_done(n):
    return has("all.json", "SKU-%05d" % n)

def keep(n, line):
    written("all.json", line, "a")
"""
NO_FSYNC_OF_THE_FOLDER = """
if not os.path.exists("progress"):
    written("progress", "")
    synced(".")

def is_done(n):
    return has("progress", f"{n}\\n")

def keep(n, line):
    written("new", line)
    synced("new")
    os.rename("new", f"{n}.json")
    written("progress", f"{n}\\n", "a")
    synced("progress")
"""


def explore(tmp_path: Path, body: str, *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "crawl.py").write_text(HEAD + body + TAIL)
    store = ("--store", "jsonl:*.json", "--key", "sku", "--", sys.executable, "crawl.py")
    return run(tmp_path, *words, *SMALL, *store)


def run(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "explore", "--power", "--results", str(tmp_path / "results"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


def told(tmp_path: Path) -> dict[str, Any]:
    (log,) = (tmp_path / "results").glob("explore-*/explored.json")
    found: dict[str, Any] = json.loads(log.read_text())
    return found


def failing(found: dict[str, Any]) -> set[str]:
    return {one["model"] for one in found["models"] if one["failing"]}


def broken_at_exit(found: dict[str, Any]) -> set[str]:
    return {one["model"] for one in found["after_exit"] if one["outcome"] == "FAIL"}


def test_sound_crawler_survives_every_model(tmp_path: Path) -> None:
    done = explore(tmp_path, SOUND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("PASS  ")
    assert "(model states, not observed ones)" in done.stdout
    assert "no progress lost: at most 2 requests are made again, as after a kill" in done.stdout
    assert all(f"model {model}: " in done.stdout for model in MODELS)
    assert "note: Not modelled: a disk that loses what it was told to flush" in done.stdout
    found = told(tmp_path)
    assert (failing(found), broken_at_exit(found)) == (set(), set())
    assert {one["rows"] for one in found["after_exit"]} == {3}


@pytest.mark.parametrize(
    ("body", "models", "at_exit"),
    [
        # Whoever takes an empty file for none finds zeros in it; and with the power goes what exit 0 stood for.
        (RENAME_WITHOUT_FSYNC, {"zeros"}, {"ext4", "posix", "names", "zeros", "lost-file", "only-file"}),
        # The next line is written behind half of one.
        (APPEND_WITHOUT_FSYNC, {"torn"}, {"ext4", "posix", "names", "zeros", "lost-file"}),
        # ext4 promises more than POSIX does.
        (NO_FSYNC_OF_THE_FOLDER, {"posix"}, {"posix"}),
    ],
    ids=["rename", "append", "folder"],
)
def test_weakness_shows_in_its_model_and_in_no_other(
    tmp_path: Path, body: str, models: set[str], at_exit: set[str]
) -> None:
    done = explore(tmp_path, body)
    assert done.returncode == 1, done.stdout + done.stderr
    found = told(tmp_path)
    assert (failing(found), broken_at_exit(found)) == (models, at_exit)
    for model in models:
        assert f"\n{model}: one cell for each moment" in done.stdout
    lines = (tmp_path / "results").glob("explore-*/points_power.jsonl")
    points = [json.loads(line) for line in next(lines).read_text().splitlines()]
    assert {point["model"] for point in points if point["outcome"] == "FAIL"} == models
    assert len(points) == found["points"]


@pytest.mark.parametrize(("level", "rows"), [("normal", 3), ("off", 0)])
def test_sqlite_that_does_not_sync_each_commit_loses_progress(tmp_path: Path, level: str, rows: int) -> None:
    done = run(tmp_path, f"idempotent:synchronous_{level}", *SMALL)
    assert "lost progress: ext4: up to 4 requests are made again" in done.stdout, done.stdout + done.stderr
    assert "; after a kill at most 1" in done.stdout
    found = told(tmp_path)
    assert not failing(found) & {"ext4", "posix", "names"}
    assert [one["rows"] for one in found["after_exit"] if one["model"] == "ext4"] == [rows]
    assert ("FAIL  ext4, right after: 0 rows of 3 products, 3 lost" in done.stdout) == (rows == 0)


def test_sound_sqlite_loses_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "idempotent", *SMALL, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["label"] == "model states, not observed ones"
    assert max(one["again_most"] for one in found["models"]) <= 1
    assert found["proof"] is None


def test_recording_that_explains_nothing_gives_no_states(tmp_path: Path) -> None:
    done = explore(tmp_path, "os.mkfifo('pipe')\nos.unlink('pipe')\n" + SOUND)
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("UNKNOWN  ")
    assert "what a power cut leaves is not known" in done.stdout
    assert "not trusted: step 1: pipe is a special file" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--power-proof", "2"), "--power-proof confirms what --power derives: give both"),
        (("--power", "--confirm", "2"), "a power cut is tried by --power-proof N"),
        (("--power", "--power-proof", "0"), "0 is not in the range x>=1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "killtest", "explore", "naive", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def patched(tmp_path: Path, patch: str, *words: str) -> subprocess.CompletedProcess[str]:
    text = f"{patch}\nfrom killtest.cli.group import run_command_line; run_command_line()"
    command = [sys.executable, "-c", text, "explore", "--power", "--results", str(tmp_path / "results"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


def test_without_seccomp_there_is_nothing_to_derive_from(tmp_path: Path) -> None:
    patch = "from killtest.trace import seccomp; seccomp.refusal = lambda: 'not in this container'"
    done = patched(tmp_path, patch, "naive")
    assert done.returncode == 2
    assert "--power derives states from a recording" in done.stderr
    assert "not in this container" in done.stderr


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("from killtest.power import ext4_disk; ext4_disk.os.geteuid = lambda: 1000", "it needs root"),
        ("from killtest.power import ext4_disk; ext4_disk._path = lambda: '/nowhere'", "mkfs.ext4, mount, umount"),
        (
            "from killtest.power import ext4_disk; ext4_disk._OPTIONS = 'loop,commit=never'",
            "mount: ",
        ),
    ],
    ids=["user", "programs", "mount"],
)
def test_machine_that_allows_no_real_disk_is_said_and_the_rest_goes_on(tmp_path: Path, patch: str, said: str) -> None:
    done = patched(tmp_path, patch, "--power-proof", "1", *SMALL, "zoo/popped-before-fetched:sound")
    assert done.returncode in (0, 1), done.stderr
    # Who is no root never gets so far as to mount.
    if said != "mount: " or not REFUSAL:
        assert f"nothing was tried on a real ext4: {said}" in done.stdout
    assert "model states, not observed ones" in done.stdout


@pytest.mark.skipif(bool(REFUSAL), reason=f"no real ext4 here: {REFUSAL}")
def test_real_ext4_leaves_byte_for_byte_what_the_model_says(tmp_path: Path) -> None:
    done = run(tmp_path, "idempotent", "--power-proof", "2", *SMALL)
    if "nothing was tried on a real ext4" in done.stdout:
        pytest.skip(done.stdout)
    assert "on a real ext4 (ext4): 3 of 3 cuts left byte for byte what the model says" in done.stdout, done.stdout
    assert "on a real ext4 (ext4, journal flushed): 3 of 3 cuts" in done.stdout
    assert "ext4: right after the exit: as said, 3 rows; PASS after a start" in done.stdout
    cuts = told(tmp_path)["proof"]["cuts"]
    assert [bool(cut["k"]) for cut in cuts] == [True, True, True, True, False, False]
    assert {cut["outcome"] for cut in cuts} == {"PASS"}
    assert loops(tmp_path) == []


def loops(tmp_path: Path) -> list[str]:
    done = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if str(tmp_path) in line]


@pytest.mark.skipif(bool(REFUSAL), reason=f"no real ext4 here: {REFUSAL}")
def test_killed_harness_leaves_no_mount_and_no_loop_device(tmp_path: Path) -> None:
    # It is killed once the disk is mounted and the crawler about to start on it.
    patch = (
        "import json, os, psutil, subprocess; from killtest.power import power_proof\n"
        "def die(*_):\n"
        "    loops = subprocess.run(['losetup', '-a'], capture_output=True, text=True).stdout\n"
        "    pids = [one.pid for one in psutil.Process().children(recursive=True)]\n"
        "    print(json.dumps({'loops': loops, 'pids': pids}), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "power_proof._crawl = die\n"
    )
    done = patched(tmp_path, patch, "--power-proof", "1", *SMALL, "idempotent")
    if "nothing was tried on a real ext4" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    before = json.loads(done.stdout)
    assert str(tmp_path) in before["loops"]
    mine = [psutil.Process(pid) for pid in before["pids"] if psutil.pid_exists(pid)]
    assert psutil.wait_procs(mine, timeout=20)[1] == []
    # The device is given back by a worker of the kernel's, behind the last process: that may take some looks.
    assert any(loops(tmp_path) == [] for _ in range(500))
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
