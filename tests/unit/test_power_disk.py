"""What a power cut leaves, by hand-made steps for each rule, and against a simple reference on any steps."""

import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killtest.explore.disk import FOLDER, Disk, Leaf
from killtest.power.power_disk import PowerDisk
from killtest.power.power_model import KILL, MODELS, flushed, left
from killtest.trace.step import Step

NEW = os.O_CREAT | os.O_WRONLY
Bytes = dict[str, bytes]


def create(path: str, flags: int = NEW) -> Step:
    return Step(1, 1, 0.0, 1, "openat", "create", path, flags=flags)


def write(path: str, data: bytes, offset: int | None = None) -> Step:
    return Step(1, 1, 0.0, 1, "pwrite64", "write", path, offset=offset, data=data)


def sync(path: str, call: str = "fsync") -> Step:
    return Step(1, 1, 0.0, 1, call, "sync", path)


def rename(old: str, new: str) -> Step:
    return Step(1, 1, 0.0, 1, "rename", "rename", old, path2=new)


def unlink(path: str) -> Step:
    return Step(1, 1, 0.0, 1, "unlink", "unlink", path)


def truncate(path: str, size: int) -> Step:
    return Step(1, 1, 0.0, 1, "ftruncate", "truncate", path, size=size)


def mkdir(path: str) -> Step:
    return Step(1, 1, 0.0, 1, "mkdir", "mkdir", path)


def behind(*steps: Step, begin: Bytes | None = None) -> PowerDisk:
    disk = PowerDisk({path: Leaf.file(data) for path, data in (begin or {}).items()})
    for step in steps:
        disk.take(step)
    return disk


def states(disk: PowerDisk, coming: Step | None = None) -> dict[str, list[Bytes]]:
    found: dict[str, list[Bytes]] = {}
    for one in left(disk, coming):
        found.setdefault(one.model, []).append({path: leaf.data or b"" for path, leaf in one.tree.items()})
    return found


def state(model: str, *steps: Step, begin: Bytes | None = None) -> Bytes:
    (found,) = states(behind(*steps, begin=begin))[model]
    return found


def test_nothing_synced_is_nothing_there_but_for_names() -> None:
    steps = (create("a"), write("a", b"xyz"))
    assert state("ext4", *steps) == {}
    assert state("posix", *steps) == {}
    assert state("names", *steps) == {"a": b""}
    assert state("zeros", *steps) == {"a": b"\0\0\0"}
    assert state(KILL, *steps) == {"a": b"xyz"}


def test_what_was_there_at_the_start_is_on_the_disk() -> None:
    for model in ("ext4", "posix", "names", "zeros"):
        assert state(model, begin={"a": b"x"}) == {"a": b"x"}


def test_fsync_of_a_file_is_its_bytes_and_on_ext4_all_names() -> None:
    steps = (create("a"), write("a", b"x"), create("b"), write("b", b"y"), sync("b"))
    assert state("ext4", *steps) == {"a": b"", "b": b"y"}
    assert state("posix", *steps) == {}
    assert state("posix", *steps, sync("")) == {"a": b"", "b": b"y"}


def test_fsync_of_a_folder_is_the_names_in_it_alone() -> None:
    steps = (mkdir("d"), create("d/a"), write("d/a", b"x"), sync("d/a"), sync("d"))
    assert state("posix", *steps) == {}
    assert state("posix", *steps, sync("")) == {"d": b"", "d/a": b"x"}
    assert state("posix", *steps[:-1], sync("")) == {"d": b""}
    assert state("ext4", *steps) == {"d": b"", "d/a": b"x"}


def test_rename_without_fsync_takes_the_name_and_leaves_the_bytes() -> None:
    steps = (create("new"), write("new", b"xy"), rename("new", "a"))
    begin = {"a": b"old"}
    assert state("names", *steps, begin=begin) == {"a": b""}
    assert state("ext4", *steps, begin=begin) == {"a": b"old"}
    # ext4 has the bytes written before it commits a name that another file had (auto_da_alloc), and else has not.
    other = (create("z"), sync("z"))
    assert state("ext4", *steps, *other, begin=begin) == {"a": b"xy", "z": b""}
    assert state("ext4", *steps, *other) == {"a": b"", "z": b""}


def test_rename_before_its_folder_is_synced_is_either_name() -> None:
    steps = (create("new"), write("new", b"x"), sync("new"), sync(""), rename("new", "a"))
    assert state("posix", *steps) == {"new": b"x"}
    assert state("posix", *steps, sync("")) == {"a": b"x"}


def test_renamed_folder_takes_its_names_along() -> None:
    steps = (mkdir("d"), create("d/a"), write("d/a", b"x"), sync("d/a"), rename("d", "e"))
    assert state("names", *steps) == {"e": b"", "e/a": b"x"}
    assert state("ext4", *steps) == {"d": b"", "d/a": b"x"}


def test_folders_that_trade_places_come_to_an_end() -> None:
    into = (mkdir("a"), mkdir("b"), sync(""), rename("b", "a/b"), sync("a"))
    disk = behind(*into, rename("a/b", "b"), rename("a", "b/a"), sync("b"))
    assert {tuple(sorted(one)) for found in states(disk).values() for one in found}


def test_unlink_is_undone_until_it_is_synced() -> None:
    begin = {"a": b"x"}
    assert state("ext4", unlink("a"), begin=begin) == begin
    assert state("names", unlink("a"), begin=begin) == {}
    assert state("ext4", unlink("a"), sync(""), begin=begin) == {}
    assert state("ext4", unlink("a"), create("b"), sync("b"), begin=begin) == {"b": b""}


def test_length_is_a_matter_of_names() -> None:
    begin = {"a": b"abcdef"}
    assert state("names", truncate("a", 2), write("a", b"Z"), begin=begin) == {"a": b"ab"}
    assert state("zeros", truncate("a", 2), write("a", b"Z"), begin=begin) == {"a": b"ab\0"}
    assert state("names", write("a", b"gh"), truncate("a", 8), begin=begin) == {"a": b"abcdef\0\0"}
    assert state("ext4", truncate("a", 2), begin=begin) == begin
    assert state("ext4", truncate("a", 2), sync("a"), begin=begin) == {"a": b"ab"}
    assert state("names", create("a", NEW | os.O_TRUNC), begin=begin) == {"a": b""}
    assert state("posix", create("a", NEW | os.O_TRUNC), begin=begin) == begin


def test_bytes_written_over_stay_as_they_were() -> None:
    steps = (write("a", b"ZZ", 1),)
    for model in ("ext4", "posix", "names", "zeros"):
        assert state(model, *steps, begin={"a": b"abcd"}) == {"a": b"abcd"}
        assert state(model, *steps, sync("a"), begin={"a": b"abcd"}) == {"a": b"aZZd"}


def test_fdatasync_of_bytes_written_over_commits_no_names() -> None:
    steps = (create("b"), write("a", b"Z", 0))
    assert state("ext4", *steps, sync("a", "fdatasync"), begin={"a": b"abcd"}) == {"a": b"Zbcd"}
    assert state("ext4", *steps, sync("a", "fsync"), begin={"a": b"abcd"}) == {"a": b"Zbcd", "b": b""}
    longer = write("a", b"Z")
    assert state("ext4", *steps, longer, sync("a", "fdatasync"), begin={"a": b"ab"}) == {"a": b"ZbZ", "b": b""}


def test_fsync_of_what_has_not_changed_commits_no_names() -> None:
    assert state("ext4", create("b"), sync("a"), begin={"a": b"x"}) == {"a": b"x"}


def test_journal_has_lengths_within_a_block_before_their_bytes() -> None:
    disk = behind(write("a", b"yz"), write("b", b"z" * 5000), begin={"a": b"x", "b": b"y"})
    assert {path: leaf.data for path, leaf in flushed(disk).items()} == {"a": b"x\0\0", "b": b"y"}


def test_syncfs_is_everything_and_sync_file_range_nothing() -> None:
    steps = (mkdir("d"), create("d/a"), write("d/a", b"x"))
    assert state("posix", *steps, sync("d/a", "syncfs")) == {"d": b"", "d/a": b"x"}
    assert state("ext4", *steps, sync("d/a", "sync_file_range")) == {}


def test_one_file_is_lost_or_alone_is_there() -> None:
    disk = behind(create("a"), write("a", b"x"), create("b"), write("b", b"y"), create("c"), sync("c"))
    found = states(disk)
    assert found["lost-file"] == [{"a": b"", "b": b"y", "c": b""}, {"a": b"x", "b": b"", "c": b""}]
    assert found["only-file"] == [{"a": b"x", "b": b"", "c": b""}, {"a": b"", "b": b"y", "c": b""}]


def test_next_write_is_torn_at_half_and_at_borders() -> None:
    disk, data = behind(begin={"a": b"." * 100}), b"x" * 5000
    found = states(disk, write("a", data))["torn"]
    # Half of it; up to byte 4096 of the file, the last border of pages; up to byte 4608, of sectors.
    assert [len(one["a"]) - 100 for one in found] == [2500, 4096 - 100, 4608 - 100]
    assert states(disk, write("a", b"x")).get("torn") is None
    assert states(disk, create("b")).get("torn") is None


def test_every_model_has_a_rule_in_words() -> None:
    disk = behind(create("a"), write("a", b"x"))
    assert set(states(disk, write("a", b"xy"))) == {KILL, *MODELS}


class Simple:
    """A reference that knows numbered files in one flat folder, and tells each rule over again from its history."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.live: dict[int, bytes] = {}
        self.synced: dict[int, bytes] = {}
        self.kept: dict[int, bytes] = {}
        self.promised: dict[str, int] = {}

    def take(self, action: tuple[str, str, object]) -> Step | None:
        kind, name, value = action
        number = self.names.get(name)
        if kind == "create" and number is None:
            number = self.names[name] = len(self.live)
            self.live[number] = self.synced[number] = self.kept[number] = b""
        elif kind == "folder":
            self.promised = dict(self.names)
        elif kind in ("rename", "unlink") and number is not None:
            del self.names[name]
            self.names |= {str(value): number} if kind == "rename" else {}
        elif number is not None:
            self._change(kind, number, value)
        return self._step(kind, name, value) if kind in ("create", "folder") or number is not None else None

    def _change(self, kind: str, number: int, value: object) -> None:
        if isinstance(value, bytes):
            self.live[number] += value
        elif kind == "fsync":
            self.synced[number] = self.kept[number] = self.live[number]
        elif isinstance(value, int):
            for content in (self.live, self.kept):
                content[number] = content[number][:value] + b"\0" * (value - len(content[number]))

    @staticmethod
    def _step(kind: str, name: str, value: object) -> Step:
        made = {"create": create(name), "fsync": sync(name), "folder": sync(""), "unlink": unlink(name)}
        if kind in made:
            return made[kind]
        if kind == "write":
            assert isinstance(value, bytes)
            return write(name, value)
        return truncate(name, value) if isinstance(value, int) else rename(name, str(value))

    def seen(self, names: dict[str, int], content: dict[int, bytes]) -> Bytes:
        return {name: content[number] for name, number in names.items()}


NAME = st.sampled_from("abc")
NOTHING = st.just(None)
ACTIONS = st.one_of(
    st.tuples(st.just("create"), NAME, NOTHING),
    st.tuples(st.just("write"), NAME, st.binary(min_size=1, max_size=4)),
    st.tuples(st.just("truncate"), NAME, st.integers(0, 6)),
    st.tuples(st.just("rename"), NAME, NAME),
    st.tuples(st.just("unlink"), NAME, NOTHING),
    st.tuples(st.just("fsync"), NAME, NOTHING),
    st.tuples(st.just("folder"), st.just(""), NOTHING),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(ACTIONS, max_size=25))
def test_model_agrees_with_the_reference_after_every_step(actions: list[tuple[str, str, object]]) -> None:
    simple, disk = Simple(), PowerDisk()
    for action in actions:
        step = simple.take(action)
        if step is not None:
            disk.take(step)
        found = states(disk)
        assert found[KILL] == [simple.seen(simple.names, simple.live)], action
        assert found["posix"] == [simple.seen(simple.promised, simple.synced)], action
        assert found["names"] == [simple.seen(simple.names, simple.kept)], action
        kept, live = simple.kept, simple.live
        zeros = {n: kept[n][: len(live[n])] + b"\0" * (len(live[n]) - len(kept[n])) for n in live}
        assert found["zeros"] == [simple.seen(simple.names, zeros)], action


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTIONS, max_size=25), NAME)
def test_fsync_of_a_new_file_leaves_on_ext4_every_name_and_its_bytes(
    actions: list[tuple[str, str, object]], name: str
) -> None:
    simple, disk = Simple(), PowerDisk()
    for action in (*actions, ("create", "new", None), ("write", "new", b"x"), ("fsync", "new", None)):
        step = simple.take(action)
        if step is not None:
            disk.take(step)
    (found,) = states(disk)["ext4"]
    assert found["new"] == b"x"
    assert found.keys() == simple.names.keys()
    # Never more than was written, and never less than was promised and not cut since.
    assert all(len(found[one]) >= len(simple.kept[simple.names[one]]) for one in found)
    assert all(len(found[one]) <= len(simple.live[simple.names[one]]) for one in found)


def test_what_programs_see_is_what_the_other_model_says() -> None:
    steps = [mkdir("d"), create("d/a"), write("d/a", b"x"), rename("d", "e"), unlink("e/a"), create("f")]
    disk, plain = PowerDisk(), Disk()
    for step in steps:
        disk.take(step)
        plain.take(step)
        assert disk.tree(lambda one: one.names, lambda one: one.live) == plain.tree
    assert disk.live["e"] == FOLDER


@pytest.mark.parametrize("flags", [os.O_CREAT | os.O_EXCL, os.O_CREAT])
def test_call_that_failed_changes_nothing(flags: int) -> None:
    disk = behind(create("a", flags), rename("x", "a"), unlink("x"), truncate("x", 1), begin={"a": b"x"})
    assert all(found == [{"a": b"x"}] for found in states(disk).values())


def test_states_handed_out_stay_as_they_were() -> None:
    disk = behind(create("a"))
    before = list(left(disk, None))
    kept = msgspec.json.encode([sorted(one.tree) for one in before])
    disk.take(unlink("a"))
    assert msgspec.json.encode([sorted(one.tree) for one in before]) == kept
