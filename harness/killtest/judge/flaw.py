"""One stored row against its product: sound, stale, or corrupted. Pure."""

import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

import msgspec

from killtest.judge.truth import FIELDS, Product
from killtest.store.rows import Value

# A value in a finding is shown up to this many characters: a row may hold a whole page.
_SHOWN = 80


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong with a row. `gravity`: the number of wrong fields, or by how many versions it is too old."""

    is_stale: bool
    gravity: int
    detail: str

    def is_worse(self, other: "Flaw | None") -> bool:
        """Whether this flaw is the one to report: corrupted before stale, then by gravity, then by its words."""
        return other is None or self._rank() < other._rank()

    def _rank(self) -> tuple[bool, int, str]:
        return self.is_stale, -self.gravity, self.detail


def flaw_of(values: Mapping[str, Value], product: Product, served: int) -> Flaw | None:
    """The flaw of a row of that product; `served` is the version that the crawler was given in full.

    A product of one page equals one version wholly, or is a mix. One of several pages is put together from answers at
    different moments, so each of its fields stands for itself.
    """
    versions = product.versions
    if len(product.pages) > 1:
        return _field_by_field(values, versions, served)
    for version in reversed(range(len(versions))):
        if not _wrong(values, versions[version]):
            return _stale(version, served)
    return _unlike_any(values, versions)


def versions_of(values: Mapping[str, Value], product: Product) -> list[int]:
    """The versions of the product that the row equals in every field that it has."""
    return [number for number, version in enumerate(product.versions) if not _wrong(values, version)]


def text_of(value: Value) -> str:
    """The value as text; Python refuses to write out integers of thousands of digits in decimals."""
    try:
        return str(value)
    except ValueError:
        return f"{value:#x}"


def _wrong(values: Mapping[str, Value], version: Mapping[str, str]) -> list[str]:
    """The fields in which the row differs from a version."""
    return [
        field
        for field in FIELDS
        # Most values are stored as they were served; this runs for every field of every row.
        if field in values
        and field in version
        and values[field] != version[field]
        and not _agrees(field, values[field], version[field])
    ]


def _agrees(field: str, stored: Value, served: str) -> bool:
    return stored is not None and _normal(field, text_of(stored)) == _normal(field, served)


def _normal(field: str, text: str) -> str | Decimal:
    """Text after Unicode NFC and trimming; a price as a decimal, so that 9.5 equals 9.50."""
    trimmed = unicodedata.normalize("NFC", text).strip()
    # Python reads 6_13 as a number, and digits of any script: a shop has written neither.
    if field == "price" and trimmed.isascii() and "_" not in trimmed:
        try:
            price = Decimal(trimmed)
        except InvalidOperation:
            return trimmed
        return price if price.is_finite() else trimmed
    return trimmed


def _field_by_field(values: Mapping[str, Value], versions: Sequence[Mapping[str, str]], served: int) -> Flaw | None:
    newest = _newest_by_field(values, versions)
    if None in newest.values():
        return _unlike_any(values, versions)
    return _stale(min((version for version in newest.values() if version is not None), default=served), served)


def _newest_by_field(values: Mapping[str, Value], versions: Sequence[Mapping[str, str]]) -> dict[str, int | None]:
    """For each judged field of the row the newest version that carries its value; None when no version does."""
    wrong = [_wrong(values, version) for version in versions]
    return {
        field: max((number for number, fields in enumerate(wrong) if field not in fields), default=None)
        for field in FIELDS
        if field in values
    }


def _stale(version: int, served: int) -> Flaw | None:
    if version >= served:
        return None
    return Flaw(True, served - version, f"version {version} stored, version {served} served")


def _unlike_any(values: Mapping[str, Value], versions: Sequence[Mapping[str, str]]) -> Flaw:
    """The first value that no version carries; without one, the row is a mix of versions."""
    gravity = min(len(_wrong(values, version)) for version in versions)
    newest = _newest_by_field(values, versions)
    for field, number in newest.items():
        if number is None:
            served = sorted({version[field] for version in versions})
            return Flaw(False, gravity, f"{field} is {_shown(values[field])}, served: {', '.join(map(repr, served))}")
    mixed = ", ".join(f"{field} of version {number}" for field, number in newest.items())
    return Flaw(False, gravity, f"a mix: {mixed}")


def _shown(value: Value) -> str:
    text = repr(value) if isinstance(value, str) else text_of(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
