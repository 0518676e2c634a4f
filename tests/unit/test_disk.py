"""The model of a folder against the real one: the same steps, the same files."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.explore import folder
from killtest.explore.crash_point import pattern
from killtest.explore.disk import FOLDER, Disk, Leaf, boundaries, digest
from killtest.trace.step import Step

PATHS = st.sampled_from(["a", "b", "d", "d/a", "e/b"])
OPEN = st.sampled_from(
    [os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_TRUNC, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_EXCL | os.O_TRUNC]
)
ACTIONS = st.one_of(
    st.tuples(st.just("create"), PATHS, OPEN),
    st.tuples(st.just("write"), PATHS, st.none() | st.integers(0, 12), st.binary(max_size=6)),
    st.tuples(st.just("truncate"), PATHS, st.integers(0, 12)),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("unlink"), PATHS),
    st.tuples(st.just("rmdir"), PATHS),
    st.tuples(st.just("mkdir"), PATHS),
)


def write(root: Path, name: str, offset: int | None, data: bytes) -> None:
    handle = os.open(root / name, os.O_WRONLY | (os.O_APPEND if offset is None else 0))
    try:
        os.write(handle, data) if offset is None else os.pwrite(handle, data, offset)
    finally:
        os.close(handle)


_CALLS: dict[str, Callable[..., object]] = {
    "create": lambda root, name, flags: os.close(os.open(root / name, flags | os.O_WRONLY)),
    "write": write,
    "truncate": lambda root, name, size: os.truncate(root / name, size),
    "rename": lambda root, old, new: (root / old).rename(root / new),
    "unlink": lambda root, name: (root / name).unlink(),
    "rmdir": lambda root, name: (root / name).rmdir(),
    "mkdir": lambda root, name: (root / name).mkdir(),
}


def act(root: Path, k: int, action: tuple) -> Step | None:  # type: ignore[type-arg]
    """Do it on the real disk, and say how a supervisor would have seen it; None when no such call is made."""
    kind, name = action[0], action[1]
    seen = {"flags": action[2]} if kind == "create" else {}
    seen |= {"offset": action[2], "data": action[3]} if kind == "write" else {}
    seen |= {"size": action[2]} if kind == "truncate" else {}
    seen |= {"path2": action[2]} if kind == "rename" else {}
    try:
        _CALLS[kind](root, *action[1:])
    except OSError:
        # The call is seen all the same; but a write needs an open file, which there is none of.
        if kind == "write":
            return None
    return Step(k, k, float(k), 1, kind, kind, name, **seen)


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTIONS, max_size=25))
def test_model_and_disk_agree_after_every_step(actions: list[tuple]) -> None:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as place:
        root, disk = Path(place), Disk()
        for k, action in enumerate(actions, 1):
            one = act(root, k, action)
            if one is not None:
                disk.take(one)
            assert disk.tree == folder.read(root), action


def test_trees_handed_out_stay_as_they_were() -> None:
    steps = [
        Step(1, 1, 0.0, 1, "openat", "create", "a", flags=os.O_CREAT),
        Step(2, 1, 0.0, 1, "write", "write", "a", data=b"x"),
        Step(3, 2, 0.0, 1, "write", "write", "a", data=b"y"),
    ]
    assert [tree.get("a", FOLDER).data for tree in boundaries(steps)] == [None, b"", b"x", b"xy"]


def test_tree_is_written_and_read_back(tmp_path: Path) -> None:
    tree = {"d": FOLDER, "d/f": Leaf.file(b"x"), "l": Leaf(target="d/f", digest=b"link d/f")}
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_bytes(b"gone")
    folder.write(tree, tmp_path)
    assert folder.read(tmp_path) == tree


def test_shared_memory_of_sqlite_does_not_count() -> None:
    base = {"x.db": Leaf.file(b"SQLite format 3\0")}
    assert digest(base | {"x.db-shm": Leaf.file(b"2")}) == digest(base)
    assert digest(base | {"x.db-wal": Leaf.file(b"2")}) != digest(base)
    new = {"x.db": Leaf.file(b""), "x.db-wal": Leaf.file(b"2")}
    assert digest(new | {"x.db-shm": Leaf.file(b"2")}) == digest(new)
    other = {"cursor": Leaf.file(b"1")}
    assert digest(other | {"cursor-shm": Leaf.file(b"2")}) != digest(other)


@pytest.mark.parametrize(
    ("one", "doubt"),
    [
        (Step(1, 1, 0.0, 1, "sendfile", "write", "a"), "sendfile on a"),
        (Step(1, 1, 0.0, 1, "mknod", "special", "pipe"), "pipe is a special file"),
        (Step(1, 1, 0.0, 1, "bind", "special", "ctl"), "ctl is a socket"),
        (Step(1, 1, 0.0, 1, "mmap", "special", "m"), "m is written through shared memory"),
        (Step(1, 1, 0.0, 1, "link", "link", "a", path2="b"), "second name"),
        (Step(1, 1, 0.0, 1, "rename", "rename", "", path2="b"), "from outside"),
        (Step(1, 1, 0.0, 1, "fallocate", "allocate", "a", flags=0x10), "flags 0x10"),
    ],
)
def test_what_can_not_be_replayed_is_a_doubt(one: Step, doubt: str) -> None:
    disk = Disk({"a": Leaf.file(b"")})
    disk.take(one)
    assert doubt in disk.doubts[0]


def test_pattern_leaves_numbers_and_digests_open() -> None:
    assert pattern("job/0s/q00017") == "job/Ns/qN"
    assert pattern("cache/3f/3fa9c2d45e6b7081aabb") == "cache/Nf/N"


def test_truncation_that_must_fail_changes_nothing() -> None:
    disk = Disk({"a": Leaf.file(b"x")})
    disk.take(Step(1, 1, 0.0, 1, "ftruncate", "truncate", "a", size=(1 << 64) - 1))
    assert disk.tree["a"].data == b"x"
