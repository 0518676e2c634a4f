"""The truth of a shop that is crawled for several groups, such as jobs: every product once for each. Pure."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from killtest.judge.truth import Product, Truth
from killtest.store.group_key import group_of
from killtest.store.snapshot import Snapshot


def names_of(snapshots: Sequence[Snapshot], column: str, groups: int) -> tuple[str, ...]:
    """The names of the groups: the most frequent values of `column` in the last snapshot that could be read.

    Of equally frequent ones the first by name; a name in brackets stands for each group that never appeared.
    """
    readable = [one for one in snapshots if one.error is None]
    found = (group_of(row, column) for row in (readable[-1].rows if readable else ()))
    counts = Counter(name for name in found if name is not None)
    names = [name for name, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))][:groups]
    for number in range(len(names) + 1, groups + 1):
        name = f"(group {number} of {groups})"
        while name in names:  # a group may call itself so
            name = f"({name})"
        names.append(name)
    return tuple(names)


def grouped(truth: Truth, names: Sequence[str]) -> Truth:
    """The truth with every product once for each of the groups, its key behind the group's name."""
    rows = tuple(_named(product, name) for name in names for product in truth.rows)
    return Truth(truth.minimum * len(names), rows, len(names))


def _named(product: Product, group: str) -> Product:
    return msgspec.structs.replace(product, key=f"{group}/{product.key}")
