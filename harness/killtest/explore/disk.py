"""A folder's files as a recording changes them, step by step: what a kill leaves is what was done before it.

A kill of processes loses nothing that a call has handed to the kernel, so the state at a boundary is simply the effect
of all steps before it (a power cut would lose more: docs/explore.md). Pure: no file is touched.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

import msgspec

from killtest.trace.step import Step

_AT_REMOVEDIR = 0x200
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
_KEEP_SIZE = 1
# A length beyond this fails (a negative one, seen as unsigned) or makes a file that nobody wants to copy.
_LARGEST = 1 << 32
# What a call of this effect did can't be told from its arguments.
_OPAQUE = ("sendfile", "copy_file_range", "splice")


class Leaf(msgspec.Struct, frozen=True):
    """What stands at a path: the bytes of a file, the target of a link, or neither for a folder."""

    data: bytes | None = None
    target: str | None = None
    digest: bytes = b""

    @staticmethod
    def file(data: bytes) -> "Leaf":
        """A file with that content."""
        return Leaf(data, None, blake2b(data, digest_size=16).digest())


FOLDER = Leaf(digest=b"folder")
Tree = Mapping[str, Leaf]


class Disk:
    """The tree at one moment; `take` is the next step. Trees that were handed out stay as they were."""

    def __init__(self, tree: Tree | None = None) -> None:
        """Begin with that tree; by default with an empty folder."""
        self.tree: dict[str, Leaf] = dict(tree or {})
        self.doubts: list[str] = []

    def take(self, step: Step) -> None:
        """Have the effect of the step; a call that must have failed has none."""
        if step.call in _OPAQUE:
            self.doubts.append(f"step {step.k}: {step.call} on {step.path}: what it wrote is not seen")
            return
        getattr(self, f"_{step.effect}")(step)

    def _create(self, step: Step) -> None:
        there = self.tree.get(step.path)
        if there is not None and there.target is not None:
            self.doubts.append(f"step {step.k}: opened through the link {step.path}")
        elif there is None:
            if step.flags & os.O_CREAT and self._has_parent(step.path):
                self.tree[step.path] = Leaf.file(b"")
        elif there.data is not None and step.flags & os.O_TRUNC and not _exclusive(step):
            self.tree[step.path] = Leaf.file(b"")

    def _write(self, step: Step) -> None:
        before = self._bytes(step.path)
        if before is None or not step.data:
            return
        at = len(before) if step.offset is None else step.offset
        self.tree[step.path] = Leaf.file(before[:at].ljust(at, b"\0") + step.data + before[at + len(step.data) :])

    def _truncate(self, step: Step) -> None:
        before, size = self._bytes(step.path), step.size or 0
        if before is not None and size < _LARGEST:
            self.tree[step.path] = Leaf.file(before[:size].ljust(size, b"\0"))

    def _allocate(self, step: Step) -> None:
        before = self._bytes(step.path)
        if step.flags & ~_KEEP_SIZE:
            self.doubts.append(f"step {step.k}: fallocate with flags {step.flags:#x} on {step.path}")
        elif before is not None and not step.flags:
            self.tree[step.path] = Leaf.file(before.ljust((step.offset or 0) + (step.size or 0), b"\0"))

    def _rename(self, step: Step) -> None:
        old, new = step.path, step.path2
        if old and new is not None and old not in self.tree:
            return
        if not old or new is None or step.flags & _RENAME_EXCHANGE:
            self.doubts.append(f"step {step.k}: rename from {old or 'outside'} to {new or 'outside'}")
            return
        if (step.flags & _RENAME_NOREPLACE and new in self.tree) or not self._can_rename(old, new):
            return
        moved = {path: leaf for path, leaf in self.tree.items() if path == old or path.startswith(f"{old}/")}
        for path in moved:
            del self.tree[path]
        self.tree |= {new + path[len(old) :]: leaf for path, leaf in moved.items()}

    def _can_rename(self, old: str, new: str) -> bool:
        """Whether rename(2) would do it."""
        there, is_folder = self.tree.get(new), self.tree[old] == FOLDER
        if new.startswith(f"{old}/") or not self._has_parent(new):
            return False
        is_full = any(path.startswith(f"{new}/") for path in self.tree)
        return there is None or ((there == FOLDER) == is_folder and not is_full)

    def _unlink(self, step: Step) -> None:
        if step.flags & _AT_REMOVEDIR:
            self._rmdir(step)
        elif self.tree.get(step.path, FOLDER) != FOLDER:
            del self.tree[step.path]

    def _rmdir(self, step: Step) -> None:
        is_empty = not any(path.startswith(f"{step.path}/") for path in self.tree)
        if self.tree.get(step.path) == FOLDER and is_empty:
            del self.tree[step.path]

    def _mkdir(self, step: Step) -> None:
        if step.path not in self.tree and self._has_parent(step.path):
            self.tree[step.path] = FOLDER

    def _link(self, step: Step) -> None:
        self.doubts.append(f"step {step.k}: a second name for {step.path}: writes through both are not followed")
        if step.path2 and step.path in self.tree and step.path2 not in self.tree:
            self.tree[step.path2] = self.tree[step.path]

    def _symlink(self, step: Step) -> None:
        if step.path not in self.tree and step.path2 is not None:
            self.tree[step.path] = Leaf(target=step.path2, digest=b"link " + os.fsencode(step.path2))

    def _special(self, step: Step) -> None:
        words = {"mmap": "is written through shared memory", "bind": "is a socket"}
        self.doubts.append(f"step {step.k}: {step.path} {words.get(step.call, 'is a special file')}")

    def _sync(self, step: Step) -> None:
        """Nothing changes for a kill."""

    def _bytes(self, path: str) -> bytes | None:
        leaf = self.tree.get(path)
        return leaf.data if leaf is not None else None

    def _has_parent(self, path: str) -> bool:
        parent = path.rpartition("/")[0]
        return not parent or self.tree.get(parent) == FOLDER


def _exclusive(step: Step) -> bool:
    return bool(step.flags & os.O_EXCL and step.flags & os.O_CREAT)


def boundaries(steps: Iterable[Step], begin: Tree | None = None) -> Iterator[Tree]:
    """The tree before the first step, and after each of them."""
    disk = Disk(begin)
    yield dict(disk.tree)
    for step in steps:
        disk.take(step)
        yield dict(disk.tree)


def is_shared_memory(path: str, tree: Tree) -> bool:
    """Whether it is SQLite's -shm, worthless once every process is dead: the first opener rebuilds it from the WAL."""
    database = tree.get(path.removesuffix("-shm"))
    is_sqlite = database is not None and (database.data or b"").startswith(b"SQLite format 3\0")
    return path.endswith("-shm") and (is_sqlite or f"{path.removesuffix('-shm')}-wal" in tree)


def digest(tree: Tree) -> bytes:
    """A fingerprint of the tree, without SQLite's shared memory."""
    head = blake2b(digest_size=16)
    for path in sorted(tree):
        if not is_shared_memory(path, tree):
            head.update(os.fsencode(path) + b"\0" + tree[path].digest + b"\0")
    return head.digest()
