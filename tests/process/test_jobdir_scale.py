"""The bench of Scrapy's queues, on few requests: every figure is there, and a queue that loses one is no figure."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SEEN_BYTES = 22  # two bytes of length, and a SHA-1


def bench(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "jobdir_scale.py"), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(BENCH))
    import jobdir_scale

    yield jobdir_scale
    del sys.modules["jobdir_scale"]


def test_memory_and_disk_queues_are_measured_and_shown(tmp_path: Path) -> None:
    queues = ("memory", "PickleLifoDiskQueue", "PickleFifoDiskQueue", "PickleFifoSQLiteQueue")
    done = bench("--requests", "50", "--queues", *queues, "--out", "figures.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads((tmp_path / "figures.json").read_text())
    assert (told["requests"], told["scrapy"], list(told["queues"])) == (50, version("scrapy"), list(queues))
    memory, *disk = told["queues"].values()
    assert memory["requests"] == 50
    assert [memory[name] for name in ("queue_bytes_each", "files", "first_request_s")] == [None] * 3
    for one in disk:
        assert (one["requests"], one["seen_bytes_each"]) == (50, SEEN_BYTES)
        assert one["queue_bytes_each"] > 100
        assert 0 < one["loading_s"] < one["opened_s"] <= one["first_request_s"]
        assert all(value is not None for value in one.values())
    # requests.seen, spider.state, active.json, and a queue: one file, or info.json and a chunk.
    assert [one["files"] for one in disk] == [4, 5, 4]
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("|")]
    assert {len(row) for row in rows} == {7}
    assert [word.strip() for word in rows[2]] == ["", "requests", "50", "50", "50", "50", ""]


def test_a_queue_that_takes_too_long_gets_no_more_requests(tmp_path: Path) -> None:
    words = ("--requests", "100000", "--within", "0.001", "--queues", "PickleLifoDiskQueue", "--out", "figures.json")
    done = bench(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())["queues"]["PickleLifoDiskQueue"]
    assert 1 <= figures["requests"] < 100_000


def test_a_queue_that_holds_less_than_it_took_ends_the_bench(module: object) -> None:
    with pytest.raises(SystemExit, match="PickleLifoDiskQueue gave back 99 of 100 requests: no figures of it"):
        module.expect("PickleLifoDiskQueue", "gave back", 99, 100)  # type: ignore[attr-defined]
    module.expect("PickleLifoDiskQueue", "gave back", 100, 100)  # type: ignore[attr-defined]


def test_a_spider_that_fails_is_shown_with_its_words(module: object, tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"runspider .* ended with 1\n(.|\n)*could not convert string to float: 'long'"
    ):
        module.scrapy(tmp_path, [], "within_s=long")  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [("--requests", "0"), ("--repeat", "0"), ("--within", "0")])
def test_nothing_to_measure_is_a_mistake(words: tuple[str, str], tmp_path: Path) -> None:
    done = bench(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "--requests and --repeat are at least 1, --within is above 0" in done.stderr
