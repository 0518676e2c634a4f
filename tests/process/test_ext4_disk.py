"""The rules of ext4 in the model, against a real ext4 whose power is cut: root and loop devices are needed."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from killtest.explore import folder
from killtest.explore.disk import Leaf
from killtest.power import ext4_disk
from killtest.power.ext4_disk import Ext4Disk
from killtest.power.power_disk import PowerDisk
from killtest.power.power_model import flushed
from killtest.trace.step import Step

Action = tuple[str, ...]
BEGIN = {"a": b"x"}
_libc, _zero = ctypes.CDLL(None), ctypes.c_int64(0)
CASES: dict[str, list[Action]] = {
    "nothing synced": [("write", "b", "new")],
    "name gone, folder synced": [("unlink", "a"), ("fsync", "")],
    "name gone, its data": [("unlink", "a"), ("fdatasync", "")],
    "new name, folder synced": [("write", "b", ""), ("fdatasync", "")],
    "renamed, file synced": [("rename", "a", "b"), ("fsync", "b")],
    "renamed, its data": [("rename", "a", "b"), ("fdatasync", "b")],
    "names by the fsync of another file": [("write", "b", ""), ("append", "a", "Z"), ("fsync", "a")],
    "names by the data of another file": [("write", "b", ""), ("append", "a", "Z"), ("fdatasync", "a")],
    "no names by data in place": [("write", "b", ""), ("over", "a", "Z"), ("fdatasync", "a")],
    "names by an fsync in place": [("write", "b", ""), ("over", "a", "Z"), ("fsync", "a")],
    "names by a folder in which nothing changed": [("mkdir", "d"), ("fsync", "d"), ("write", "b", ""), ("fsync", "d")],
    "names by the data of such a folder": [("mkdir", "d"), ("fsync", "d"), ("write", "b", ""), ("fdatasync", "d")],
    "no names by nothing": [("write", "b", ""), ("fsync", "a")],
    # Its bytes are on their way at once; whether they arrive before the commit is a race, so they are waited for.
    "name taken over": [("write", "n", "new"), ("rename", "n", "a"), ("arrive", "a"), ("write", "z"), ("fsync", "z")],
    "name that was free": [("write", "n", "new"), ("rename", "n", "c"), ("write", "z", ""), ("fsync", "z")],
    "length within a block": [("append", "a", "yz"), ("write", "z", ""), ("fsync", "z")],
    "length beyond a block": [("append", "a", "y" * 5000), ("write", "z", ""), ("fsync", "z")],
    "cut to its own length": [
        ("append", "a", "y" * 5000),
        ("truncate", "a", "5001"),
        ("write", "z", ""),
        ("fsync", "z"),
    ],
    "made longer": [("append", "a", "yz"), ("truncate", "a", "9000"), ("write", "z", ""), ("fsync", "z")],
    "names by bytes that find blocks late": [
        *[("write", "b", "new"), ("write", "z", ""), ("fsync", "z")],
        *[("write", "c", ""), ("fsync", "b")],
    ],
    "names by data that finds blocks late": [
        *[("write", "b", "new"), ("write", "z", ""), ("fsync", "z")],
        *[("write", "c", ""), ("fdatasync", "b")],
    ],
    "no names by bytes whose block was there": [
        *[("append", "a", "yz"), ("write", "z", ""), ("fsync", "z")],
        *[("write", "c", ""), ("fsync", "a")],
    ],
    "no names by data in place, late": [
        *[("over", "a", "Z"), ("write", "z", ""), ("fsync", "z")],
        *[("write", "c", ""), ("fsync", "a")],
    ],
    "name taken over by what was synced": [
        *[("write", "n", "new"), ("fsync", "n"), ("rename", "n", "a")],
        *[("write", "c", ""), ("fdatasync", "a")],
    ],
    "bytes in a hole": [
        *[("truncate", "a", "20000"), ("fsync", "a"), ("write", "c", "")],
        *[("over", "a", "Q" * 9000), ("fdatasync", "a")],
    ],
    "length behind a hole": [
        *[("truncate", "a", "20000"), ("fsync", "a")],
        *[("append", "a", "Q"), ("write", "z", ""), ("fsync", "z")],
    ],
    "cut": [("append", "a", "yz"), ("fsync", "a"), ("truncate", "a", "2"), ("write", "z", ""), ("fsync", "z")],
}


def _on_file(path: Path, flags: int, act: Callable[[int], object]) -> None:
    handle = os.open(path, flags, 0o644)
    try:
        act(handle)
    finally:
        os.close(handle)


def _write(path: Path, flags: int, data: bytes) -> None:
    _on_file(path, os.O_WRONLY | flags, lambda handle: os.write(handle, data) if data else None)


def act(root: Path, action: Action) -> list[Step]:  # noqa: C901, PLR0911 - a case for each call
    """Do it on the real disk; the steps that it is."""
    kind, name, *rest = action
    path, data = root / name, "".join(rest).encode()

    def step(call: str, effect: str, **facts: object) -> Step:
        return Step(1, 1, 0.0, 1, call, effect, name, **facts)  # type: ignore[arg-type]

    match kind:
        case "write":
            _write(path, os.O_CREAT, data)
            return [step("openat", "create", flags=os.O_CREAT), step("write", "write", offset=0, data=data)]
        case "append":
            _write(path, os.O_APPEND, data)
            return [step("write", "write", data=data)]
        case "over":
            _write(path, 0, data)
            return [step("write", "write", offset=0, data=data)]
        case "truncate":
            os.truncate(path, int(data))
            return [step("truncate", "truncate", size=int(data))]
        case "rename":
            path.rename(root / rest[0])
            return [step("rename", "rename", path2=rest[0])]
        case "mkdir":
            path.mkdir()
            return [step("mkdir", "mkdir")]
        case "unlink":
            path.unlink()
            return [step("unlink", "unlink")]
        case "arrive":
            wait_before = 1
            _on_file(path, os.O_RDONLY, lambda handle: _libc.sync_file_range(handle, _zero, _zero, wait_before))
            return []
        case _:
            _on_file(path, os.O_RDONLY, os.fsync if kind == "fsync" else os.fdatasync)
            return [step(kind, "sync")]


def cut_behind(actions: list[Action], flag: int, place: Path) -> tuple[dict[str, Leaf], PowerDisk]:
    """What is left on the real disk, and the model of it."""
    ext4_disk.make_mounts_private()
    disk = Ext4Disk(place)
    try:
        store = disk.root / "store"
        store.mkdir()
        model = PowerDisk({path: Leaf.file(data) for path, data in BEGIN.items()})
        folder.write({path: Leaf.file(data) for path, data in BEGIN.items()}, store)
        # An fsync commits a change of the time, and two writes in one tick of the clock make none.
        os.utime(store / "a", (0, 0))
        disk.sync()
        for action in actions:
            for step in act(store, action):
                model.take(step)
        disk.cut(flag)
        disk.restart()
        return folder.read(disk.root / "store"), model
    finally:
        disk.close()


@pytest.mark.skipif(bool(ext4_disk.refusal()), reason=f"no real ext4 here: {ext4_disk.refusal()}")
@pytest.mark.parametrize("flag", [ext4_disk.NOTHING_FLUSHED, ext4_disk.LOG_FLUSHED], ids=["nothing", "journal"])
@pytest.mark.parametrize("actions", CASES.values(), ids=CASES.keys())
def test_real_ext4_leaves_what_the_rules_say(actions: list[Action], flag: int, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        try:
            real, model = pool.submit(cut_behind, actions, flag, tmp_path / "disk").result()
        except OSError as error:
            pytest.skip(f"no real ext4 here: {error}")
    if flag == ext4_disk.LOG_FLUSHED:
        assert real == flushed(model)
    else:
        assert real == model.tree(lambda one: one.journaled, lambda one: one.committed)
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
