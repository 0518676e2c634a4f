"""What the store held after an incarnation, and its lines in snapshot.jsonl."""

import shutil
from pathlib import Path

import msgspec

from killtest import store
from killtest.errors import QueryError, StoreError
from killtest.plan.manifest import StoreNeeds
from killtest.store.rows import Row


class Snapshot(msgspec.Struct, frozen=True):
    """The rows after `incarnation`; `error` says why they could not be read, `exists` whether there was a store.

    `is_mistake`: it is the manifest's question that could not be answered, not the store that is damaged.
    `in_commit`: the reader saw the store in the middle of a write, before any reading changed it.
    """

    incarnation: int
    rows: tuple[Row, ...] = ()
    damage: tuple[str, ...] = ()
    exists: bool = True
    error: str | None = None
    is_mistake: bool = False
    in_commit: bool = False


def take(needs: StoreNeeds, folder: Path, scratch: Path, incarnation: int) -> Snapshot:
    """Read the store below `folder`, by way of a copy in `scratch`. Nobody may be writing to it meanwhile."""
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        rows = store.read(needs, folder, scratch)
    except StoreError as error:
        return Snapshot(incarnation, error=str(error), is_mistake=isinstance(error, QueryError))
    finally:
        shutil.rmtree(scratch)
    if rows is None:
        return Snapshot(incarnation, exists=False)
    return Snapshot(incarnation, rows.rows, rows.damage, in_commit=rows.in_commit)


def to_lines(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON Lines: a head, then a line per row."""
    head = msgspec.structs.replace(snapshot, rows=())
    encode = msgspec.json.encode
    return b"".join(
        [
            encode(head),
            b"\n",
            *(encode({"in": snapshot.incarnation, **msgspec.to_builtins(row)}) + b"\n" for row in snapshot.rows),
        ]
    )


def from_lines(data: bytes) -> list[Snapshot]:
    """The snapshots written by `to_lines`, one after another."""
    heads: dict[int, Snapshot] = {}
    rows: dict[int, list[Row]] = {}
    for line in filter(None, data.split(b"\n")):
        raw = msgspec.json.decode(line)
        if "in" in raw:
            rows[raw["in"]].append(msgspec.convert(raw, Row))
        else:
            head = msgspec.convert(raw, Snapshot)
            heads[head.incarnation], rows[head.incarnation] = head, []
    return [msgspec.structs.replace(head, rows=tuple(rows[number])) for number, head in heads.items()]
