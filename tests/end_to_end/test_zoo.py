"""`killtest zoo`: agreeing, disagreeing, interrupted, and as documented."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from killtest.zoo import animal, zoo_page

ROOT = Path(__file__).resolve().parents[2]
KIND = "popped-before-fetched"


def zoo(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "zoo", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def altered(tmp_path: Path) -> Path:
    """An animal of which somebody expects the wrong page to be lost, and that its twin needs fewer requests."""
    shutil.copy(animal.zoo_folder() / "shop.py", tmp_path)
    folder = shutil.copytree(animal.zoo_folder() / KIND, tmp_path / KIND)
    path = folder / animal.EXPECTED
    path.write_text(path.read_text().replace("SKU-00007", "SKU-00008").replace("requests = 23", "requests = 22"))
    return Path(folder)


def test_an_animal_as_expected_ends_with_0_and_leaves_nothing(tmp_path: Path) -> None:
    done = zoo(KIND, "--runs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == f"[1/1] {KIND}: as expected\n"
    assert "FAIL; lost SKU-00007; said it was done" in done.stdout
    assert "1 of 1 animals as expected, bug and twin run 2 times each behind a control." in done.stdout
    assert list((tmp_path / "results").iterdir()) == []


def test_each_difference_is_told_with_its_evidence_and_the_command(tmp_path: Path, altered: Path) -> None:
    done = zoo(str(altered), cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"[1/1] {KIND}: NOT as expected" in done.stderr
    assert f"{KIND}, the bug:\n      lost: expected SKU-00008, found SKU-00007\n" in done.stdout
    assert f"{KIND}, the twin:\n      requests: expected 22, found 23\n" in done.stdout
    assert f"reproduce: killtest run {altered}:sound --fault 'request:/product/7 KILL'" in done.stdout
    evidence = [line.split()[1] for line in done.stdout.splitlines() if line.strip().startswith("evidence:")]
    assert len(evidence) == 2
    assert all((tmp_path / place / "history.jsonl").is_file() for place in evidence)


def test_json_tells_every_difference(tmp_path: Path, altered: Path) -> None:
    done = zoo("key-is-a-tracked-url", str(altered), "--json", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert not told["agrees"]
    good, bad = told["animals"]
    assert (good["kind"], good["agrees"], good["evidence"]) == ("key-is-a-tracked-url", True, None)
    assert bad["bug"]["differences"] == [[{"field": "lost", "expected": "SKU-00008", "found": "SKU-00007"}]]
    assert bad["sound"]["trials"][0]["outcome"] == "PASS"


def test_a_name_that_is_none_or_said_twice_is_a_usage_error(tmp_path: Path) -> None:
    for words, complaint in (["unicorn"], "no animal 'unicorn'"), ([KIND, f"zoo/{KIND}"], "two animals are called"):
        done = zoo(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert complaint in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_leaves_nothing(number: signal.Signals, code: int, tmp_path: Path) -> None:
    words = [KIND, "lease-shorter-than-the-fetch", "--jobs", "2", "--runs", "3"]
    command = [sys.executable, "-m", "killtest", "zoo", *words]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stderr is not None
        assert harness.stderr.readline() == f"[1/2] {KIND}: as expected\n"
        harness.send_signal(number)
        rest = harness.stderr.read()
        assert harness.wait(30) == code
    assert "Traceback" not in rest
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert [text for text in listed.splitlines() if str(tmp_path) in text and "pytest" not in text] == []
    assert list((tmp_path / "results").iterdir()) == []


def test_the_zoo_page_is_what_the_folders_say() -> None:
    assert (ROOT / "docs" / "zoo.md").read_text("utf-8") == zoo_page.text(), "run `make docs`"


def test_a_folder_of_the_callers_is_not_taken_for_the_zoo(tmp_path: Path) -> None:
    """A folder named `zoo` where the command is started is not taken for the one that comes with killtest."""
    (tmp_path / "zoo" / KIND).mkdir(parents=True)
    assert zoo(KIND, cwd=tmp_path).returncode == 0
    assert list((tmp_path / "zoo" / KIND).iterdir()) == []
