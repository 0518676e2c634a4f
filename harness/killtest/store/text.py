"""The text of a store's files, unpacked where it is gzipped, and the reading of all files that a pattern names."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from killtest.store.files import matching
from killtest.store.gzip_members import members
from killtest.store.rows import Row, Rows

BOM = b"\xef\xbb\xbf"


class Text(msgspec.Struct, frozen=True):
    """One file's content.

    `label` stands before every place in it, when there are several files. `seams` are the offsets at which a torn
    gzip member ends: half a record there is its damage, which is in `damage` already. `is_torn`: the last one is.
    """

    data: bytes
    label: str = ""
    seams: tuple[int, ...] = ()
    damage: tuple[str, ...] = ()
    is_torn: bool = False

    def runs(self) -> Iterator[tuple[bytes, bool]]:
        """The content between the seams, each with whether it is cut at its end."""
        start = 0
        for seam in self.seams:
            yield self.data[start:seam], True
            start = seam
        yield self.data[start:], False


def read_all(folder: Path, pattern: str, reader: Callable[[Text], Rows]) -> Rows | None:
    """What `reader` finds in the files below `folder` that match `pattern`; None while there is none.

    A file is read in one go, which copies it: texts have no companions.
    """
    files = matching(folder, pattern)
    if not files:
        return None
    rows: list[Row] = []
    damage: list[str] = []
    in_commit = False
    instead: list[tuple[str, ...]] = []
    for path in files:
        label = "" if len(files) == 1 else f"{path.relative_to(folder)} "
        found = reader(_text(path, label))
        rows += found.rows
        damage += found.damage
        in_commit = in_commit or found.in_commit
        instead += [] if found.instead is None else [found.instead]
    # The key of one file is enough: a pattern may name others besides.
    there = dict.fromkeys(name for names in instead for name in names) if all(instead) else {}
    return Rows(tuple(rows), tuple(damage), in_commit, tuple(there) if instead else None)


def excerpt(piece: bytes) -> str:
    """The beginning of a piece that can't be read, for a message."""
    shown = piece.strip().decode("utf-8", "backslashreplace")
    return repr(shown if len(shown) <= 60 else shown[:57] + "…")


def _text(path: Path, label: str) -> Text:
    data = path.read_bytes()
    return _unpacked(data, label) if path.name.endswith(".gz") else Text(data, label)


def _unpacked(data: bytes, label: str) -> Text:
    content = bytearray()
    seams: list[int] = []
    damage: list[str] = []
    is_torn = False
    for number, member in enumerate(members(data), 1):
        content += member.content
        is_torn = not member.is_whole
        if is_torn:
            seams.append(len(content))
            damage.append(f"{label}member {number} at byte {member.start}: torn")
    return Text(bytes(content), label, tuple(seams), tuple(damage), is_torn)
