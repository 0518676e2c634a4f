"""A folder as a power cut may leave it: beside what is there for programs, what of it lies on the disk (docs/power.md).

The model of Pillai et al. (ALICE, OSDI 2014): contents and names become durable apart from each other. What a step
does to a running system is told by `Disk`; here is kept what had been synced of it. Pure: no file is touched.

The rules of ext4 are those of its default, data=ordered with delayed allocation and blocks of 4 KiB
(fs/ext4/fsync.c, inode.c, namei.c of Linux 6.x): an fsync that has anything of its file to commit commits the whole
journal, names and lengths of all other files with it, and no bytes of theirs.
"""

from collections.abc import Callable, Iterator

from killtest.explore.disk import FOLDER, Disk, Leaf, Tree
from killtest.trace.step import Step

_BLOCK_BYTES = 4096
_EMPTY = Leaf.file(b"")


class Inode:
    """A file, link or folder, by whatever name: what stands in it, and what of that is where.

    `live` is what programs see; `synced` what an fsync of it promised; `kept` that, cut or grown by what changes
    lengths and no bytes; `flushed` is `kept` as ext4's next commit would write it, `committed` as its last one did.
    """

    def __init__(self, live: Leaf) -> None:
        """Begin as a new one, of which nothing was synced."""
        nothing = _EMPTY if live.data is not None else live
        self.live = live
        self.synced = self.kept = self.flushed = self.committed = nothing
        # Names in it: as programs see them, as its own fsync promised them, as ext4's last commit wrote them.
        self.names: dict[str, Inode] = {}
        self.promised: dict[str, Inode] = {}
        self.journaled: dict[str, Inode] = {}
        # Whether anything of it waits for the next commit, and whether fdatasync would wait for that too.
        self.is_changed = self.is_longer = True
        # Its blocks that hold anything (others are holes), and those that have their place on the disk.
        self._filled = set(range(_blocks(live)))
        self._mapped: set[int] = set()

    @property
    def is_dirty(self) -> bool:
        """Whether bytes in it would be lost."""
        return self.live != self.kept

    @property
    def is_homeless(self) -> bool:
        """Whether blocks of it have no place yet; finding one is a change of its own, whatever was committed before."""
        return not self._filled <= self._mapped

    def settle(self) -> None:
        """All its bytes are on the disk, as they stand."""
        self.synced = self.kept = self.flushed = self.committed = self.live
        self._mapped = set(self._filled)

    def settle_all(self) -> None:
        """Its names as well."""
        self.settle()
        self.promised, self.journaled = dict(self.names), dict(self.names)
        self.is_changed = self.is_longer = False

    def wrote(self, live: Leaf, begin: int, end: int) -> None:
        """It was written to, from the byte `begin` to before `end`."""
        last = (end - 1) // _BLOCK_BYTES
        blocks = set(range(begin // _BLOCK_BYTES, last + 1))
        self.is_changed = True
        self.is_longer = self.is_longer or _size(live) > _size(self.live) or not blocks <= self._mapped
        self._filled |= blocks
        self.live = live
        if end > _size(self.flushed) and last in self._mapped:
            # No block has to be found for it, so that the new length is written before the bytes are.
            self.flushed = _resized(self.flushed, end)

    def find_blocks(self) -> None:
        """ext4 does so when it takes another file's name (auto_da_alloc), and writes the bytes: taken for arrived."""
        self.is_longer = self.is_longer or self.is_homeless
        self.flushed, self._mapped = self.live, set(self._filled)

    def resized(self, live: Leaf) -> None:
        """It was cut or lengthened, which is a change of names and lengths alone."""
        border, size = min(_size(self.live), _size(live)), _size(live)
        self.kept, self.flushed = _resized(self.kept, size), _resized(self.flushed, size)
        if border // _BLOCK_BYTES in self._mapped:
            # ext4 fills the rest of that block with zeros, and the commit waits for it, with what else is in it.
            self.flushed = _with_block(self.flushed, live, border // _BLOCK_BYTES)
        self.live = live
        within = set(range(_blocks(live)))
        self._filled, self._mapped = self._filled & within, self._mapped & within
        self.is_changed = self.is_longer = True


Names = Callable[[Inode], dict[str, Inode]]
Content = Callable[[Inode], Leaf]


class PowerDisk:
    """The folder at one moment; `take` is the next step. What `begin` holds is on the disk already."""

    def __init__(self, begin: Tree | None = None) -> None:
        """Begin with that tree; by default with an empty folder."""
        self._disk = Disk(begin)
        self.root = Inode(FOLDER)
        for path in sorted(begin or {}):
            self._folder_of(path).names[_last(path)] = Inode(self._disk.tree[path])
        for inode in self._all():
            inode.settle_all()

    @property
    def live(self) -> Tree:
        """What a kill would leave: all of it."""
        return self._disk.tree

    def tree(self, names: Names, content: Content) -> Tree:
        """What lies there where of each folder those names and of each file that content survived."""
        return {path: content(inode) for path, inode in _walk(self.root, names)}

    def dirty(self) -> Iterator[tuple[str, Inode]]:
        """The files with bytes that were not synced, by name."""
        return ((path, inode) for path, inode in _walk(self.root, lambda one: one.names) if inode.is_dirty)

    def take(self, step: Step) -> None:
        """Have the effect of the step; a call that must have failed has none."""
        before = dict(self._disk.tree)
        self._disk.take(step)
        act = getattr(self, f"_{step.effect}", None)
        if act is not None:
            act(step, before, self._disk.tree)

    def _create(self, step: Step, before: Tree, after: Tree) -> None:
        if step.path not in before and step.path in after:
            self._add(step.path, Inode(after[step.path]))
        elif step.path in after and before[step.path] != after[step.path]:
            self._at(step.path).resized(after[step.path])

    def _mkdir(self, step: Step, before: Tree, after: Tree) -> None:
        if step.path not in before and step.path in after:
            self._add(step.path, Inode(after[step.path]))

    _symlink = _mkdir

    def _write(self, step: Step, before: Tree, after: Tree) -> None:
        leaf = before.get(step.path)
        if leaf is None or leaf.data is None or not step.data:
            return
        at = len(leaf.data) if step.offset is None else step.offset
        self._at(step.path).wrote(after[step.path], at, at + len(step.data))

    def _truncate(self, step: Step, before: Tree, after: Tree) -> None:
        """To the length that it has, too: ext4 then writes that length down (ext4_ext_truncate)."""
        leaf = after.get(step.path)
        if leaf is not None and leaf.data is not None and len(leaf.data) == (step.size or 0):
            self._at(step.path).resized(leaf)

    def _allocate(self, step: Step, before: Tree, after: Tree) -> None:
        if step.path in after and before[step.path] != after[step.path]:
            self._at(step.path).resized(after[step.path])

    def _rename(self, step: Step, before: Tree, after: Tree) -> None:
        old, new = step.path, step.path2
        if not new or old not in before or old in after or new not in after:
            return
        inode = self._folder_of(old).names.pop(_last(old))
        self._folder_of(old).is_changed = inode.is_changed = True
        if new in before and inode.live.data is not None:
            inode.find_blocks()
        self._add(new, inode)

    def _unlink(self, step: Step, before: Tree, after: Tree) -> None:
        if step.path in before and step.path not in after:
            folder = self._folder_of(step.path)
            del folder.names[_last(step.path)]
            folder.is_changed = True

    _rmdir = _unlink

    def _sync(self, step: Step, before: Tree, after: Tree) -> None:
        """The store folder's own path is empty: it is no step to kill at, but a promise all the same."""
        if step.call == "sync_file_range" or (step.path and step.path not in after):
            return
        if step.call == "syncfs":
            for inode in self._all():
                inode.settle_all()
            return
        inode = self._at(step.path) if step.path else self.root
        # ext4 journals the bytes of a folder, and then each sync of it forces a commit (ext4_inode_journal_mode).
        has_work = inode.live == FOLDER or inode.is_homeless
        has_work = has_work or (inode.is_longer if step.call == "fdatasync" else inode.is_changed)
        inode.settle()
        inode.promised = dict(inode.names)
        if has_work:
            self._commit()

    def _commit(self) -> None:
        """ext4's journal: everything of every file but the bytes that were not written out yet."""
        for inode in self._all():
            inode.committed, inode.journaled = inode.flushed, dict(inode.names)
            inode.is_changed = inode.is_longer = False

    def _add(self, path: str, inode: Inode) -> None:
        folder = self._folder_of(path)
        folder.names[_last(path)] = inode
        folder.is_changed = True

    def _folder_of(self, path: str) -> Inode:
        head = path.rpartition("/")[0]
        return self._at(head) if head else self.root

    def _at(self, path: str) -> Inode:
        inode = self.root
        for name in path.split("/"):
            inode = inode.names[name]
        return inode

    def _all(self) -> list[Inode]:
        return [self.root, *(inode for _, inode in _walk(self.root, lambda one: one.names))]


def _walk(folder: Inode, names: Names, head: str = "", above: tuple[Inode, ...] = ()) -> Iterator[tuple[str, Inode]]:
    """All below a folder. Of folders that traded places old names may lead back up; no file system lets them."""
    for name, inode in names(folder).items():
        if not any(inode is one for one in (folder, *above)):
            yield head + name, inode
            yield from _walk(inode, names, f"{head}{name}/", (folder, *above))


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _size(leaf: Leaf) -> int:
    return len(leaf.data or b"")


def _blocks(leaf: Leaf) -> int:
    return -(-_size(leaf) // _BLOCK_BYTES)


def _with_block(leaf: Leaf, other: Leaf, block: int) -> Leaf:
    """The same with that block from the other one."""
    data, begin = leaf.data or b"", block * _BLOCK_BYTES
    end = begin + _BLOCK_BYTES
    return Leaf.file(data[:begin] + (other.data or b"")[begin:end] + data[end:])


def _resized(leaf: Leaf, size: int) -> Leaf:
    if leaf.data is None or len(leaf.data) == size:
        return leaf
    return Leaf.file(leaf.data[:size].ljust(size, b"\0"))
