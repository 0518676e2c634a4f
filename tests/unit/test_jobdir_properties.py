"""Whatever lies in a JOBDIR: an inspection ends, changes nothing, and what it tells can be written down."""

import os
import shutil
import tempfile
from pathlib import Path

import jobdir_builder as build
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobdir_builder import FOLDER, INDEX, KINDS, QUEUE, SEEN, START, STATE, chunk, info, lifo, records
from killtest.jobdir import JobDir, compact, inspect

FILES = [SEEN, STATE, INDEX, QUEUE, f"{FOLDER}/-1", f"{START}/q00000", f"{START}/q00001", f"{START}/info.json"]
SHAPES = st.sampled_from(
    [
        b"",
        b"\0\x14" + b"x" * 20,
        b"{}",
        b'{"shop.test": [0, -1]}',
        b"[0]",
        lifo(records(3, 4)),
        lifo(records(3), header=9),
        chunk(records(3, 4)),
        info(2),
        info(1, (0, 1, 3)),
        info(5, (1, 0, 0), (1, 5)),
        b"SQLite format 3\0",
        b"\x80\x04}.",
    ]
)


def check(job: Path) -> JobDir:
    """Inspect, with everything that must hold of any folder."""
    before = build.state_of(job)
    found = inspect(job)
    assert build.state_of(job) == before
    assert msgspec.json.decode(msgspec.json.encode(compact.of(found, None))) == compact.of(found, None)
    assert msgspec.json.encode(found)
    assert all(one.name and one.words for one in found.findings)
    queued = sum(queue.pending.requests for queue in found.queues)
    assert 0 <= found.resume.forgets <= queued
    assert all(text.isprintable() for text in found.resume.words)
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FILES), st.binary(max_size=200) | SHAPES | st.tuples(SHAPES, SHAPES).map(b"".join))
)
def test_arbitrary_bytes_in_any_file(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(build.write(Path(folder), files))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.data())
def test_bytes_changed_in_a_clean_jobdir(kind: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = build.clean(Path(folder), kind)
        path = data.draw(st.sampled_from(sorted(one for one in job.rglob("*") if one.is_file())))
        changed = bytearray(path.read_bytes())
        places = st.tuples(st.integers(0, len(changed) - 1), st.integers(0, 255))
        for place, value in data.draw(st.lists(places, min_size=1, max_size=6)):
            changed[place] = value
        path.write_bytes(changed)
        check(job)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_cut_at_every_byte(kind: str, tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job", kind)
    for path in sorted(one for one in job.rglob("*") if one.is_file()):
        whole = path.read_bytes()
        # A page of SQLite is cut here and there: what is in it is SQLite's to tell.
        for size in range(0, len(whole), 1 if len(whole) < 4096 else 512):
            path.write_bytes(whole[:size])
            found = check(job)
            assert found.findings or path.name == "requests.seen", (path.name, size)
        path.write_bytes(whole)
    assert not check(job).findings


def test_files_and_folders_with_names_that_are_none(tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job")
    odd = [b"\xff\xfe", "ü\n".encode(), b"-", b"0s0", b"s", b"99999999999999999999", b"-0", b"00", b"q00000"]
    for name in odd:
        for folder in ("", "requests.queue", FOLDER):
            with Path(job, folder, name.decode("utf-8", "surrogateescape")).open("wb") as file:
                file.write(b"x")
    (job / "requests.queue" / "1").mkdir()
    (job / FOLDER / "2" / "deeper" / "still").mkdir(parents=True)
    assert check(job).resume.loads == 3
    shutil.rmtree(job / "requests.queue")
    (job / "requests.queue").write_bytes(b"a file")
    check(job)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A slot's folder may have any name; what is told of it is text."""
    folder = tmp_path / "requests.queue" / os.fsdecode(b"\xff\x1b-" + b"a" * 32)
    folder.mkdir(parents=True)
    (folder / "0").write_bytes(lifo(records(1)))
    (queue,) = check(tmp_path).queues
    assert queue.slot.isprintable()


def test_folders_that_are_deeper_than_pythons_stack(tmp_path: Path) -> None:
    folders = [tmp_path / "requests.queue"]
    folders[0].mkdir()
    try:
        for _ in range(1200):
            folders.append(folders[-1] / "d")
            folders[-1].mkdir()
        (folders[-1] / "file").touch()
        assert len(inspect(tmp_path).files) == 1
    finally:  # from the inside: pytest's rmtree calls itself as well, and would fail in every later run
        (folders[-1] / "file").unlink(missing_ok=True)
        for folder in reversed(folders[1:]):
            folder.rmdir()
