"""What a snapshot holds of each product, in a few bytes per product: a shop may have a million of them. Pure."""

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from killtest.judge.flaw import Flaw
from killtest.judge.truth import FIELDS
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot

# Given a row and the number of its product: what is wrong with it.
Inspect = Callable[[Row, int], Flaw | None]


@dataclass(frozen=True)
class Holdings:
    """The rows of one snapshot, counted.

    `counts` are rows by product number, `strangers` rows by key for keys of no product, `flaws` the worst of each
    key, `wrong_places` what stands there that has no key or can't be read, `columns` all names in order of appearance.
    """

    counts: "array[int]"
    strangers: dict[str, int] = field(default_factory=dict)
    flaws: dict[str, Flaw] = field(default_factory=dict)
    wrong_places: dict[str, str] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)

    @property
    def columns_not_judged(self) -> tuple[str, ...]:
        """The columns whose names are no fields of the truth."""
        return tuple(name for name in self.columns if name not in FIELDS)


def take_stock(snapshot: Snapshot, numbers: Mapping[str, int], inspect: Inspect) -> Holdings:
    """Count and inspect all rows; `numbers` gives the number of the product of a key."""
    found = Holdings(array("l", [0]) * len(numbers), wrong_places=_damage(snapshot.damage))
    for row in snapshot.rows:
        if not row.values.keys() <= found.columns.keys():
            found.columns.update(dict.fromkeys(row.values))
        number = None if row.key is None else numbers.get(row.key)
        if row.key is None:
            found.wrong_places.setdefault(row.place, "no key")
        elif number is None:
            found.strangers[row.key] = found.strangers.get(row.key, 0) + 1
        else:
            found.counts[number] += 1
            flaw = inspect(row, number)
            if flaw is not None and flaw.is_worse(found.flaws.get(row.key)):
                found.flaws[row.key] = flaw
    return found


def _damage(lines: Iterable[str]) -> dict[str, str]:
    """Damage by its place; a line that names no place, or the place of another, stands for itself."""
    wrong: dict[str, str] = {}
    for line in lines:
        place, _, reason = line.partition(": ")
        if reason and place not in wrong:
            wrong[place] = reason
        else:
            wrong[line] = reason or "can't be read"
    return wrong


def held(snapshot: Snapshot, numbers: Mapping[str, int]) -> bytearray:
    """For each product number: 1 when the snapshot holds a row of it."""
    found = bytearray(len(numbers))
    for row in snapshot.rows:
        number = None if row.key is None else numbers.get(row.key)
        if number is not None:
            found[number] = True
    return found


class Movements(msgspec.Struct, frozen=True):
    """Products that came and went, by number.

    `vanished`: stored once and absent at the end, with the last incarnation after which they were stored; `set_back`:
    there again, with the incarnation after which they were absent.
    """

    vanished: dict[int, int]
    set_back: dict[int, int]


def movements(held_after: Iterable[tuple[int, bytearray]]) -> Movements:
    """What came and went over the snapshots, each the number of its incarnation and what was held after it."""
    gone: dict[int, tuple[int, int]] = {}
    back: dict[int, int] = {}
    for (last, before), (incarnation, now) in pairwise(held_after):
        for number, (was_held, is_held) in enumerate(zip(before, now, strict=True)):
            if was_held and not is_held:
                gone[number] = (last, incarnation)
            elif is_held and number in gone:
                back[number] = gone.pop(number)[1]
    return Movements({number: stored for number, (stored, _) in gone.items()}, back)
