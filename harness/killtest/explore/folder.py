"""Trees on a real disk: written there, and read back."""

import os
import shutil
from pathlib import Path

from killtest.errors import UsageError
from killtest.explore.disk import FOLDER, Leaf, Tree

_LARGEST = 256 << 20


def write(tree: Tree, folder: Path) -> None:
    """Have exactly that tree in the existing folder."""
    for old in folder.iterdir():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    for path in sorted(tree):
        leaf, place = tree[path], folder / path
        if leaf.data is not None:
            place.write_bytes(leaf.data)
        elif leaf.target is not None:
            place.symlink_to(leaf.target)
        else:
            place.mkdir()


def read(folder: Path) -> dict[str, Leaf]:
    """The tree that the folder holds."""
    tree: dict[str, Leaf] = {}
    for place in sorted(folder.rglob("*")):
        path = str(place.relative_to(folder))
        if place.is_symlink():
            target = str(place.readlink())
            tree[path] = Leaf(target=target, digest=b"link " + os.fsencode(target))
        elif place.is_dir():
            tree[path] = FOLDER
        elif place.is_file():
            if place.stat().st_size > _LARGEST:
                raise UsageError(f"{path} is too large to keep a copy for every step; explore a smaller shop")
            tree[path] = Leaf.file(place.read_bytes())
        else:
            tree[path] = Leaf(digest=b"special")
    return tree
