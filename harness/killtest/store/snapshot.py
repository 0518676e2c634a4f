"""What the store held after an incarnation, and its lines in snapshot.jsonl."""

import contextlib
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from killtest import store
from killtest.errors import QueryError, StoreError
from killtest.pieces import Pieces
from killtest.plan.effects import EffectNeeds
from killtest.plan.manifest import StoreNeeds
from killtest.store import effects, group_key
from killtest.store.effects import StoredEffects
from killtest.store.rows import Row, Value

_NO_EFFECTS = EffectNeeds()


class Snapshot(msgspec.Struct, frozen=True):
    """The rows after `incarnation`; `error` says why they could not be read, `exists` whether there was a store.

    `is_mistake`: it is the manifest's question that could not be answered, not the store that is damaged.
    `in_commit`: the reader saw the store in the middle of a write, before any reading changed it. `trace` tells the
    store's files as they stood (names, sizes, times of change): equal to that of an earlier one, nobody wrote since.
    `instead`: where rows stand and none has the key's column, the columns that there are. `effects` is what else was
    found of what the subject declares; None without any, and where rows could not be read.
    """

    incarnation: int
    rows: Sequence[Row] = ()
    damage: tuple[str, ...] = ()
    exists: bool = True
    error: str | None = None
    is_mistake: bool = False
    in_commit: bool = False
    trace: str = ""
    instead: tuple[str, ...] = ()
    effects: StoredEffects | None = None


def take(
    needs: StoreNeeds,
    folder: Path,
    scratch: Path,
    incarnation: int,
    server: str | None = None,
    others: EffectNeeds = _NO_EFFECTS,
) -> Snapshot:
    """Read the store below `folder`, and what `others` declares, by way of a copy in `scratch`, or on `server`.

    Nobody may be writing to it meanwhile.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    trace = _trace(needs, folder)
    try:
        rows = store.read(needs, folder, scratch, server)
        if rows is not None and needs.group is not None:
            rows = group_key.grouped(rows, needs.group)
        besides = effects.read(others, folder, scratch, server)
    except StoreError as error:
        return Snapshot(incarnation, error=str(error), is_mistake=isinstance(error, QueryError), trace=trace)
    finally:
        shutil.rmtree(scratch)
    if rows is None:
        return Snapshot(incarnation, exists=False, effects=besides)
    found = (rows.rows, rows.damage)
    instead = rows.instead or ()
    return Snapshot(incarnation, *found, in_commit=rows.in_commit, trace=trace, instead=instead, effects=besides)


def _trace(needs: StoreNeeds, folder: Path) -> str:
    """A digest of the names, sizes and times of change of the store's files, SQLite's journals among them."""
    if not needs.path:
        return ""  # in a server, where no write is seen half done
    companions = "*" if needs.reader == "sqlite" else ""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob(needs.path + companions)):
        # SQLite's shared memory changes when somebody looks.
        if not path.name.endswith("-shm"):
            with contextlib.suppress(OSError):
                facts = path.stat()
                found.update(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def to_lines(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON Lines: a head, which says how many rows there are, then a line per row."""
    head = msgspec.to_builtins(msgspec.structs.replace(snapshot, rows=())) | {"count": len(snapshot.rows)}
    encode = msgspec.json.encode
    return b"".join(
        [
            encode(head),
            b"\n",
            *(encode({"in": snapshot.incarnation, **msgspec.to_builtins(row)}) + b"\n" for row in snapshot.rows),
        ]
    )


class _Counted(msgspec.Struct, frozen=True):
    count: int | None = None  # not there before heads were counted


class _Stored(msgspec.Struct, frozen=True):
    number: int = msgspec.field(name="in")
    key: str | None
    values: dict[str, Value]
    place: str


def from_lines(path: Path) -> list[Snapshot]:
    """The snapshots written by `to_lines` one after another; their rows are read anew whenever they are asked for.

    OSError, msgspec.DecodeError or UnicodeDecodeError when there is no file, or what is in it is damaged.
    """
    heads: dict[int, Snapshot] = {}
    counts: dict[int, int | None] = {}
    rows: dict[int, Pieces[Row]] = {}
    # All of a row is decoded here: it is read anew where nobody expects damage any more.
    decode, decode_row, at = msgspec.json.Decoder(_Stored).decode, msgspec.json.Decoder(Row).decode, 0
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b'{"in":'):
                number = decode(line).number
                if number not in rows:
                    raise msgspec.ValidationError(f"a row of incarnation {number}, of which there is no snapshot")
                rows[number].add(at, len(line))
            else:
                head = msgspec.json.decode(line, type=Snapshot)
                counts[head.incarnation] = msgspec.json.decode(line, type=_Counted).count
                heads[head.incarnation], rows[head.incarnation] = head, Pieces(path, decode_row)
            at += len(line)
    for number, count in counts.items():
        if count not in (None, len(rows[number])):
            raise msgspec.ValidationError(f"{len(rows[number])} of {count} rows after incarnation {number}")
    return [msgspec.structs.replace(head, rows=rows[number]) for number, head in heads.items()]
