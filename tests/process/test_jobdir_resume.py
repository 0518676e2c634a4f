"""What `killtest inspect` foretells of a JOBDIR against what Scrapy's own scheduler then does with it.

JOBDIRs that Scrapy wrote are damaged in every place, inspected, and given back to Scrapy.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from killtest.jobdir import JobDir, inspect
from killtest.plan.subject import missing_of_extra

pytestmark = pytest.mark.skipif(bool(missing_of_extra("scrapy")), reason="killtest's extra scrapy is not installed")

SCRIPT = Path(__file__).with_name("scrapy_scheduler.py")
QUEUES = ["PickleLifoDiskQueue", "PickleFifoDiskQueue", "PickleLifoSQLiteQueue", "MarshalFifoDiskQueue"]
INDEX, SEEN = "requests.queue/active.json", "requests.seen"
Change = Callable[[Path], object]


class Scrapy:
    """The program scrapy_scheduler.py, which answers a line for a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, what: str, queue: str, folder: Path) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\t{queue}\t{folder}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"Scrapy's scheduler ended at {what} {queue} {folder}"
        told: dict[str, Any] = json.loads(answer)
        return told


@pytest.fixture(scope="module")
def scrapy() -> Iterator[Scrapy]:
    command = [sys.executable, str(SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Scrapy(process)
        assert process.stdin is not None
        process.stdin.close()


class Written(NamedTuple):
    """A kind of queue, and a JOBDIR with such queues after a clean stop: six requests of two sites are queued."""

    scrapy: Scrapy
    queue: str
    folder: Path

    def both(self, change: Change, copy: Path) -> tuple[JobDir, dict[str, Any]]:
        """What we foretell and what Scrapy does, for a copy with that change."""
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder, copy)
        change(copy)
        return inspect(copy), self.scrapy.ask("resume", self.queue, copy)


@pytest.fixture(scope="module", params=QUEUES)
def written(request: pytest.FixtureRequest, scrapy: Scrapy, tmp_path_factory: pytest.TempPathFactory) -> Written:
    queue = str(request.param)
    folder = tmp_path_factory.mktemp(queue) / "job"
    scrapy.ask("write", queue, folder)
    return Written(scrapy, queue, folder)


def agree(foretold: JobDir, real: dict[str, Any]) -> None:
    assert fails(foretold) == bool(real["opening"]), (foretold, real)
    if real["opening"]:
        assert real["opening"] in foretold.resume.words[0], (foretold, real)
        return
    assert foretold.resume.loads == len(real["urls"]), (foretold, real)
    assert ("never ends" in " ".join(foretold.resume.words)) == bool(real["left"]), (foretold, real)
    assert foretold.fingerprints == real["known"], (foretold, real)


def fails(foretold: JobDir) -> bool:
    return "fails at its start" in foretold.resume.words[0]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_clean_stop_is_told_as_one(written: Written, tmp_path: Path) -> None:
    foretold, real = written.both(lambda _: None, tmp_path / "job")
    agree(foretold, real)
    assert (len(real["urls"]), real["errors"], foretold.findings) == (6, 0, ())
    assert "nothing is forgotten" in foretold.resume.words


def test_every_file_cut_anywhere(written: Written, tmp_path: Path) -> None:
    seen = set()
    for name in files(written.folder):
        data = (written.folder / name).read_bytes()
        for size in cuts(len(data)):
            foretold, real = written.both(partial(fill, name=name, data=data[:size]), tmp_path / "job")
            agree(foretold, real)
            seen |= {finding.name for finding in foretold.findings}
    assert {"bad_index", "seen_cut"} <= seen
    kind = "lifo" if "Lifo" in written.queue else "fifo"
    assert ("sqlite_damaged" if "SQLite" in written.queue else f"{kind}_torn_record") in seen


def cuts(size: int) -> list[int]:
    """Where to cut a file: in the first and the last few bytes, and here and there between (an SQLite page: 4096)."""
    between = range(0, size, 23 if size < 1000 else 2048)
    return sorted({*range(min(size, 6)), *between, *range(max(0, size - 6), size)})


def fill(job: Path, name: str, data: bytes) -> None:
    (job / name).write_bytes(data)


def test_every_file_removed(written: Written, tmp_path: Path) -> None:
    for name in files(written.folder):
        agree(*written.both(partial(remove, names=(name,)), tmp_path / "job"))
        foretold, real = written.both(partial(remove, names=(name, INDEX)), tmp_path / "job")
        agree(foretold, real)
        assert (foretold.resume.loads, foretold.index) == (0, None)


def remove(job: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (job / name).unlink(missing_ok=True)


def test_counts_that_differ_from_what_is_there(written: Written, tmp_path: Path) -> None:
    for change in counts(written.folder):
        foretold, real = written.both(change, tmp_path / "job")
        agree(foretold, real)
        assert foretold.findings or foretold.resume.loads == 6


def counts(folder: Path) -> Iterator[Change]:
    """Every count of 0 to 4 in each place of every info.json, and in the header of every LIFO queue."""
    for name, count in itertools.product(files(folder), range(5)):
        if name.endswith("info.json"):
            for field, place in (("size", 0), ("tail", 0), ("tail", 1), ("tail", 2), ("head", 0), ("head", 1)):
                yield partial(write_info, name=name, field=field, place=place, count=count)
        elif Path(name).name in ("0", "-1") and not (folder / name).read_bytes().startswith(b"SQLite"):
            yield partial(put_header, name=name, count=count)


def write_info(job: Path, name: str, field: str, place: int, count: int) -> None:
    info = json.loads((job / name).read_bytes())
    if field == "size":
        info[field] = count
    else:
        info[field][place] = count
    (job / name).write_text(json.dumps(info))


def put_header(job: Path, name: str, count: int) -> None:
    with (job / name).open("rb+") as file:
        file.write(count.to_bytes(4, "big"))


def test_bytes_changed_at_random_are_foretold_without_failing(written: Written, tmp_path: Path) -> None:
    """Whether a changed record still makes a request is Scrapy's to say; what opening raises is foretold."""
    draw = random.Random(6)
    for _ in range(60):
        name = draw.choice(files(written.folder))
        data = bytearray((written.folder / name).read_bytes())
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        foretold, real = written.both(partial(fill, name=name, data=bytes(data)), tmp_path / "job")
        assert fails(foretold) == bool(real["opening"]), (foretold, real)


INDICES = [b"{}", b"[]", b"null", b'{"a.test": null}', b'{"a.test": []}', b"7", b'{"a.test": 5}', b"{", b"\xff"]


@pytest.mark.parametrize("index", INDICES)
def test_what_an_index_may_hold(index: bytes, scrapy: Scrapy, tmp_path: Path) -> None:
    scrapy.ask("write", QUEUES[0], tmp_path / "written")
    written = Written(scrapy, QUEUES[0], tmp_path / "written")
    foretold, real = written.both(partial(fill, name=INDEX, data=index), tmp_path / "job")
    assert foretold.resume.loads == 0 == len(real["urls"])
    assert fails(foretold) == bool(real["opening"])


def test_fingerprints_appended_behind_half_a_one(scrapy: Scrapy, tmp_path: Path) -> None:
    scrapy.ask("write", QUEUES[0], tmp_path)
    whole = (tmp_path / SEEN).read_bytes()
    fill(tmp_path, SEEN, whole[:-8])
    assert [one.name for one in inspect(tmp_path).findings] == ["seen_cut"]
    fill(tmp_path, SEEN, whole[:-8] + whole)
    found = inspect(tmp_path)
    real = scrapy.ask("resume", QUEUES[0], tmp_path)
    assert [one.name for one in found.findings] == ["seen_misread"]
    assert found.fingerprints == real["known"] < 8 + 7


QUEUE = "requests.queue/a.test-86564c7c410f437450097bf93f0734cf/0"


def pushed(scrapy: Scrapy, queue: str, job: Path, change: Change) -> tuple[JobDir, dict[str, Any], list[str]]:
    """Two new requests for a queue that is not listed: what was foretold, and what Scrapy made of that site's queue."""
    scrapy.ask("write", queue, job)
    (job / INDEX).unlink()
    change(job)
    foretold = inspect(job)
    real = scrapy.ask("push", queue, job)
    return foretold, real, [url.rpartition("/")[2] for url in real["urls"] if "a.test" in url]


def told_of(foretold: JobDir) -> str:
    return next(words for words in foretold.resume.words if words.startswith(f"{QUEUE} "))


def test_an_unlisted_lifo_queue_comes_along_as_far_as_its_header_counts(scrapy: Scrapy, tmp_path: Path) -> None:
    foretold, real, taken = pushed(scrapy, QUEUES[0], tmp_path / "whole", lambda _: None)
    assert "then 2 of its requests are made as well" in told_of(foretold)
    assert taken == ["new2", "new1", "1", "0"]
    header = partial(put_header, name=QUEUE, count=0)
    foretold, real, taken = pushed(scrapy, QUEUES[0], tmp_path / "killed", header)
    assert "it is deleted once the new requests in it are made" in told_of(foretold)
    assert (taken, (tmp_path / "killed" / QUEUE).exists(), real["left"]) == (["new2", "new1"], False, 0)


def test_an_unlisted_fifo_queue_gives_its_oldest_in_the_place_of_the_new(scrapy: Scrapy, tmp_path: Path) -> None:
    info = partial(remove, names=(f"{QUEUE}/info.json",))
    foretold, _, taken = pushed(scrapy, QUEUES[1], tmp_path / "job", info)
    assert "appended behind its records, and the oldest are made, as many as are new" in told_of(foretold)
    assert (taken, (tmp_path / "job" / QUEUE).exists()) == (["0", "1"], False)


def test_an_unlisted_sqlite_queue_comes_along(scrapy: Scrapy, tmp_path: Path) -> None:
    foretold, _, taken = pushed(scrapy, QUEUES[2], tmp_path / "job", lambda _: None)
    assert "then 2 of its requests are made as well" in told_of(foretold)
    assert sorted(taken) == ["0", "1", "new1", "new2"]


@pytest.mark.parametrize(
    ("queue", "change", "error"),
    [
        (0, partial(fill, name=QUEUE, data=b""), "struct.error"),
        (1, partial(fill, name=f"{QUEUE}/info.json", data=b"{}"), "KeyError"),
        (2, partial(fill, name=QUEUE, data=b"no database, and longer than a header"), "error"),
    ],
)
def test_what_can_not_be_opened_loses_every_request_queued_there(
    queue: int, change: Change, error: str, scrapy: Scrapy, tmp_path: Path
) -> None:
    foretold, real, taken = pushed(scrapy, QUEUES[queue], tmp_path / "job", change)
    if queue != 2:  # what is left of SQLite's file looks like a LIFO queue
        assert f"each request queued there raises {error} and is lost, and its fingerprint is kept" in told_of(foretold)
        assert real["pushing"] == [error.rpartition(".")[2]] * 2
    assert (taken, real["memory"]) == ([], 0)
    assert real["known"] == foretold.fingerprints + 2


def test_what_is_queued_before_the_position_of_an_emptied_fifo_queue_is_never_read(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    """As a kill between the removals of the last chunk and of info.json leaves it."""

    def emptied(job: Path) -> None:
        taken = (job / QUEUE / "q00000").stat().st_size
        (job / QUEUE / "q00000").unlink()
        info = {"chunksize": 100000, "size": 0, "tail": [0, 4, taken], "head": [0, 4]}
        fill(job, f"{QUEUE}/info.json", json.dumps(info).encode())

    foretold, real, taken = pushed(scrapy, QUEUES[1], tmp_path / "job", emptied)
    assert "the first request that the spider queues there is never read" in told_of(foretold)
    assert "then the crawl waits and has no end" in told_of(foretold)
    assert (taken, real["left"]) == ([], 2)


def test_an_unlisted_lifo_queue_that_counts_too_many_gives_all_and_never_gets_empty(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    header = partial(put_header, name=QUEUE, count=5)
    foretold, real, taken = pushed(scrapy, QUEUES[0], tmp_path / "job", header)
    assert "then 2 of its requests are made as well, and the crawl has no end" in told_of(foretold)
    assert (taken, bool(real["left"])) == (["new2", "new1", "1", "0"], True)


def test_an_info_that_is_no_json_sends_requests_into_memory(scrapy: Scrapy, tmp_path: Path) -> None:
    change = partial(fill, name=f"{QUEUE}/info.json", data=b"{")
    foretold, real, taken = pushed(scrapy, QUEUES[1], tmp_path / "job", change)
    assert "goes into memory, as if it could not be serialized" in told_of(foretold)
    assert (taken, real["memory"], real["pushing"]) == (["new2", "new1"], 2, [])
