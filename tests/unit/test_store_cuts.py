"""Texts cut at any byte, and appended to: what stood whole is read, nothing is invented, a torn piece counts once."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from killtest.store.rows import Rows
from store_texts import FORMATS, Format, Record, records_of

A, B = records_of("A"), records_of("B")
ANY_FORMAT = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
SAMPLE = [
    {"sku": "A-1", "title": "Käse, \"jung\"", "price": "1.00"},
    {"sku": "A-2", "title": "two\nlines", "price": '"'},
    {"sku": "A-3", "title": "€{[", "price": "3,00"},
]  # fmt: skip


def read_records(rows: Rows) -> list[Record]:
    return [{"sku": str(row.key)} | {name: str(row.values[name]) for name in ("title", "price")} for row in rows.rows]


def check_cut(form: Format, records: list[Record], cut: int) -> None:
    written = form.write(records)
    rows = form.read(written.data[:cut])
    found = read_records(rows)
    if form is FORMATS["csv"] and found and found[-1] not in records:
        # All fields are there, and nobody can tell whether the last one goes on: many writers end no last line.
        last, original = found.pop(), records[len(found)]
        assert last | {"price": ""} == original | {"price": ""}
    assert found[: len(written.whole(records, cut))] == written.whole(records, cut)
    assert all(record in records for record in found)
    assert len(rows.damage) <= 1
    if written.is_inside(cut) and len(rows.rows) == len(written.whole(records, cut)):
        assert rows.damage
        assert rows.in_commit


def check_glued(form: Format, first: list[Record], second: list[Record], cut: int) -> None:
    written, behind = form.write(first), form.write(second)
    rows = form.read(written.data[:cut] + behind.data)
    found = read_records(rows)
    whole = written.whole(first, cut) + second
    assert [record for record in found if record in whole] == whole
    assert all(record in first + second for record in found)
    assert len([damage for damage in rows.damage if not damage.endswith("the header again")]) <= 1
    if written.is_inside(cut):
        assert rows.damage
    if second:
        assert not rows.in_commit


@ANY_FORMAT
def test_every_cut_of_a_sample(form: Format) -> None:
    written = form.write(SAMPLE)
    for cut in range(len(written.data) + 1):
        check_cut(form, SAMPLE, cut)


@ANY_FORMAT
def test_every_cut_of_a_sample_with_another_file_behind_it(form: Format) -> None:
    second = [record | {"sku": record["sku"].replace("A", "B")} for record in SAMPLE]
    for cut in range(len(form.write(SAMPLE).data) + 1):
        check_glued(form, SAMPLE, second, cut)


@ANY_FORMAT
@given(records=A, place=st.floats(0, 1))
def test_cut_anywhere(form: Format, records: list[Record], place: float) -> None:
    check_cut(form, records, round(place * len(form.write(records).data)))


@ANY_FORMAT
@given(first=A, second=B, place=st.floats(0, 1))
@example(first=SAMPLE, second=[], place=0.9)
def test_cut_anywhere_and_appended_to(form: Format, first: list[Record], second: list[Record], place: float) -> None:
    check_glued(form, first, second, round(place * len(form.write(first).data)))


@ANY_FORMAT
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_to_some_end(form: Format, data: bytes) -> None:
    rows = form.read(data)
    assert all(": " in damage for damage in rows.damage)
