"""States that are the same for SQLite: what a restart would read, whatever pages, journals and salts it stands in."""

import shutil
import sqlite3
from hashlib import blake2b
from pathlib import Path

from killtest.explore import folder
from killtest.explore.disk import Leaf, Tree, digest
from killtest.store.sqlite import MAGIC

_COMPANIONS = ("-wal", "-journal", "-shm")


class Reader:
    """Reads the databases of trees in a scratch folder; equal sets of files are read once."""

    def __init__(self, scratch: Path) -> None:
        """Work in `scratch`, which is made anew for each database and removed."""
        self._scratch = scratch
        self._known: dict[bytes, bytes] = {}

    def digest(self, tree: Tree) -> bytes:
        """A fingerprint of the tree in which every readable database counts by what it holds."""
        plain = dict(tree)
        for path in [path for path, leaf in tree.items() if _is_database(path, leaf)]:
            names = [path, *(path + ending for ending in _COMPANIONS if path + ending in tree)]
            content = self._content({Path(name).name: tree[name] for name in names}, Path(path).name)
            if content is not None:
                for name in names:
                    del plain[name]
                plain[path] = Leaf(digest=b"sqlite " + content)
        return digest(plain)

    def _content(self, files: Tree, name: str) -> bytes | None:
        """The digest of what the database holds; None when SQLite can't read it, so that its bytes count."""
        key = digest(files)
        if key not in self._known:
            self._scratch.mkdir(parents=True)
            try:
                folder.write({path: leaf for path, leaf in files.items() if not path.endswith("-shm")}, self._scratch)
                self._known[key] = _dump(self._scratch / name)
            except sqlite3.Error:
                self._known[key] = b""
            finally:
                shutil.rmtree(self._scratch)
        return self._known[key] or None


def _is_database(path: str, leaf: Leaf) -> bool:
    return leaf.data is not None and leaf.data.startswith(MAGIC) and not path.endswith(_COMPANIONS)


def _dump(database: Path) -> bytes:
    connection = sqlite3.connect(database)
    try:
        # A scratch copy: nothing in it has to survive.
        connection.execute("PRAGMA synchronous = OFF")
        head = blake2b(digest_size=16)
        for pragma in ("journal_mode", "user_version", "application_id"):
            head.update(repr(connection.execute(f"PRAGMA {pragma}").fetchone()).encode())
        for line in connection.iterdump():
            head.update(line.encode("utf-8", "surrogatepass") + b"\0")
        return head.digest()
    finally:
        connection.close()
