"""Texts of a store as crawlers write them, with where each record ends: to be cut anywhere, and glued together."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st
from killtest import store
from killtest.plan.manifest import StoreNeeds
from killtest.store.rows import Rows

Record = dict[str, str]


@dataclass(frozen=True)
class Written:
    """A file's bytes; up to `ends[i]` record i stands in it, from `starts[i]` on."""

    data: bytes
    starts: list[int]
    ends: list[int]

    def whole(self, records: Sequence[Record], cut: int) -> list[Record]:
        return [record for record, end in zip(records, self.ends, strict=True) if end <= cut]

    def is_inside(self, cut: int) -> bool:
        return any(start < cut < end for start, end in zip(self.starts, self.ends, strict=True))


@dataclass(frozen=True)
class Format:
    needs: StoreNeeds
    write: Callable[[Sequence[Record]], Written]

    def read(self, data: bytes) -> Rows:
        with TemporaryDirectory() as folder:
            (Path(folder) / self.needs.path).write_bytes(data)
            rows = store.read(self.needs, Path(folder), Path(folder))
        assert rows is not None
        return rows


def joined(pieces: Sequence[bytes], before: bytes, between: bytes, behind: bytes) -> Written:
    data, starts, ends = before, [], []
    for number, piece in enumerate(pieces):
        data += between if number else b""
        starts.append(len(data))
        data += piece
        ends.append(len(data))
    return Written(data + behind, starts, ends)


def encoded(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


def jsonl(records: Sequence[Record]) -> Written:
    return joined([encoded(record) for record in records], b"", b"\n", b"\n")


def array(records: Sequence[Record]) -> Written:
    return joined([encoded(record) for record in records], b"[\n", b",\n", b"\n]\n")


def members(records: Sequence[Record]) -> Written:
    return joined([gzip.compress(encoded(record) + b"\n", mtime=0) for record in records], b"", b"", b"")


def table(records: Sequence[Record]) -> Written:
    def line(values: Sequence[str]) -> bytes:
        out = io.StringIO()
        csv.writer(out).writerow(values)
        return out.getvalue().encode()

    # The carriage return ends a line as well.
    written = joined([line(list(one.values())) for one in records], line(["sku", "title", "price"]), b"", b"")
    return Written(written.data, written.starts, [end - 1 for end in written.ends])


FORMATS = {
    "jsonl": Format(StoreNeeds("jsonl", "out.jsonl", key="sku"), jsonl),
    "json": Format(StoreNeeds("json", "out.json", key="sku"), array),
    "csv": Format(StoreNeeds("csv", "out.csv", key="sku"), table),
    "gzip": Format(StoreNeeds("jsonl", "out.jsonl.gz", key="sku"), members),
}
# What means something in one of the formats. At most one comma stands in a line of such a value: with more of them the
# rest of a torn CSV value is a row by every rule.
PIECES = ("{", "}", "[", "]", '"', "\\", "é", "€", "x", " ", ":", "{}", '{"sku": "no"}')
TITLES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
VALUES = st.tuples(TITLES, st.sampled_from(["", ",", "\n", "\r\n"]), TITLES).map("".join)


def records_of(letter: str) -> st.SearchStrategy[list[Record]]:
    """Records whose keys begin with that letter."""
    values = st.lists(st.tuples(VALUES, VALUES), max_size=4)
    return values.map(
        lambda found: [
            {"sku": f"{letter}-{number}", "title": title, "price": price}
            for number, (title, price) in enumerate(found, 1)
        ]
    )
