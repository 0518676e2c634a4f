"""What a power cut may leave at one moment, model by model. States of models, not observed ones (docs/power.md)."""

from collections.abc import Iterator

import msgspec

from killtest.explore.disk import Disk, Leaf, Tree
from killtest.power.power_disk import Inode, PowerDisk
from killtest.trace.step import Step

MODELS = {
    "ext4": "an fsync of any file commits all names before it, and the bytes of that file; other bytes are gone",
    "posix": "what fsync promises and nothing else: bytes by an fsync of the file, names by one of its folder",
    "names": "all names and lengths that were set; bytes that were not synced are gone, a new file is empty",
    "zeros": "all names and lengths; bytes behind what was synced are zeros",
    "torn": "all of it, and of the next write the first half, or up to a border of 512 bytes or of a page",
    "lost-file": "all of it but the bytes of one file that were not synced",
    "only-file": "all names; of bytes that were not synced those of one file alone",
}
# What a kill leaves, beside which the cost of a cut is told; `killtest explore` judges it.
KILL = "kill"
# Some seconds behind the last step the journal has been committed, and bytes may still wait to be written.
AFTER_SECONDS = ("names", "zeros")
_BORDERS_BYTES = (512, 4096)


class Left(msgspec.Struct, frozen=True):
    """One state: by which model, which file or how many bytes of the write it is about, and what lies there."""

    model: str
    detail: str
    tree: Tree


def left(disk: PowerDisk, coming: Step | None) -> Iterator[Left]:
    """The states that a cut may leave now, right before the step that is coming (None: behind the last one)."""
    yield Left(KILL, "", dict(disk.live))
    yield Left("ext4", "", disk.tree(lambda one: one.journaled, lambda one: one.committed))
    yield Left("posix", "", disk.tree(lambda one: one.promised, lambda one: one.synced))
    yield Left("names", "", disk.tree(_names, lambda one: one.kept))
    yield Left("zeros", "", disk.tree(_names, _zeros))
    if coming is not None and coming.effect == "write":
        yield from _torn(disk, coming)
    for path, dirty in disk.dirty():
        yield Left("lost-file", path, disk.tree(_names, lambda one, lost=dirty: one.kept if one is lost else one.live))  # type: ignore[misc]
        yield Left("only-file", path, disk.tree(_names, lambda one, only=dirty: one.live if one is only else one.kept))  # type: ignore[misc]


def flushed(disk: PowerDisk) -> Tree:
    """What ext4 leaves when its journal is written out at the cut, and no bytes."""
    return disk.tree(_names, lambda one: one.flushed)


def _names(inode: Inode) -> dict[str, Inode]:
    return inode.names


def _zeros(inode: Inode) -> Leaf:
    kept, live = inode.kept.data, inode.live.data
    if kept is None or live is None or inode.kept == inode.live:
        return inode.kept
    return Leaf.file(kept.ljust(len(live), b"\0"))


def _torn(disk: PowerDisk, write: Step) -> Iterator[Left]:
    """The write that is coming, cut short: bytes reach the disk in sectors, and the cache in pages."""
    there, data = disk.live.get(write.path), write.data or b""
    if there is None or there.data is None:
        return
    begin = len(there.data) if write.offset is None else write.offset
    end = begin + len(data)
    cuts = {len(data) // 2, *((end - 1) // border * border - begin for border in _BORDERS_BYTES)}
    for size in sorted(cut for cut in cuts if 0 < cut < len(data)):
        part = Disk(disk.live)
        part.take(msgspec.structs.replace(write, data=data[:size]))
        yield Left("torn", f"{size} of {len(data)} bytes", part.tree)
