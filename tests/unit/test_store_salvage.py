"""What is salvaged of texts that a kill tore, and how the damage is named: one entry for each torn piece."""

import csv
import gzip
import io
import json
import zlib
from pathlib import Path

import pytest
from killtest import store
from killtest.plan.manifest import StoreNeeds
from killtest.store import snapshot
from killtest.store.rows import Rows


def read(reader: str, data: bytes | str, tmp_path: Path, name: str = "out", delimiter: str = ",") -> Rows:
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    rows = store.read(StoreNeeds(reader, name, key="sku", delimiter=delimiter), tmp_path, tmp_path)
    assert rows is not None
    return rows


def keys(rows: Rows) -> list[str | None]:
    return [row.key for row in rows.rows]


# JSON Lines


def test_record_glued_onto_half_a_record_is_a_row_and_the_half_is_damage(tmp_path: Path) -> None:
    rows = read("jsonl", '{"sku": "A"}\n{"sku": "B", "ti{"sku": "C", "n": 1}\n{"sku": "D"}\n', tmp_path)
    assert [(row.key, row.place) for row in rows.rows] == [("A", "line 1"), ("C", "line 2"), ("D", "line 3")]
    assert rows.damage == ('line 2: half a record: \'{"sku": "B", "ti\'',)
    assert not rows.in_commit


def test_each_torn_piece_of_a_line_is_one_damage_with_a_place_of_its_own(tmp_path: Path) -> None:
    rows = read("jsonl", '{"sku": "A", {"sku": "B"}{"sku": {"sku": "C"}\n', tmp_path)
    assert keys(rows) == ["B", "C"]
    places = [damage.partition(": ")[0] for damage in rows.damage]
    assert places == ["line 1", "line 1, byte 25"]


def test_two_records_in_one_line_are_two_rows_and_one_damage(tmp_path: Path) -> None:
    rows = read("jsonl", '{"sku": "A"}{"sku": "B"}\n', tmp_path)
    assert (keys(rows), rows.damage) == (["A", "B"], ("line 1: 2 records in one line",))


@pytest.mark.parametrize(
    "half", ['{"sku": "B", "offer": {"price": 1}, "ti', '{"sku": "B", "offers": [{"price": 1}, {"pr']
)
def test_object_inside_half_a_record_is_no_row(half: str, tmp_path: Path) -> None:
    rows = read("jsonl", f'{{"sku": "A"}}\n{half}', tmp_path)
    assert keys(rows) == ["A"]
    assert len(rows.damage) == 1
    assert rows.in_commit


def test_line_cut_in_a_character_is_damage_with_that_reason(tmp_path: Path) -> None:
    rows = read("jsonl", b'{"sku": "A"}\n{"sku": "B", "title": "K\xc3\n{"sku": "C"}\n', tmp_path)
    assert keys(rows) == ["A", "C"]
    assert [damage.partition(": ")[0] for damage in rows.damage] == ["line 2"]
    assert rows.damage[0].startswith("line 2: cut in a character, no UTF-8")


def test_record_with_a_cut_character_is_a_row_without_that_value_and_still_damage(tmp_path: Path) -> None:
    rows = read("jsonl", b'{"sku": "A", "title": "K\xc3", "price": "1.00", "tags": ["\xe2\x82"]}\n', tmp_path)
    assert [(row.key, row.values) for row in rows.rows] == [("A", {"sku": "A", "price": "1.00"})]
    assert rows.damage == ("line 1: no UTF-8 in title, tags",)
    assert read("jsonl", b'{"sku": "A\xc3", "price": "1.00"}\n', tmp_path).rows == ()


def test_number_that_is_no_json_is_damage_and_the_record_a_row(tmp_path: Path) -> None:
    rows = read("jsonl", '{"sku": "A", "price": NaN}\n', tmp_path)
    assert [(row.key, row.values["price"]) for row in rows.rows] == [("A", "NaN")]
    assert len(rows.damage) == 1


def test_last_line_without_an_end_is_whole_when_its_record_is(tmp_path: Path) -> None:
    rows = read("jsonl", '\ufeff{"sku": "A"}\r\n{"sku": "B"}', tmp_path)
    assert (keys(rows), rows.damage, rows.in_commit) == (["A", "B"], (), False)


# gzip


def member(*numbers: int) -> bytes:
    return gzip.compress("".join(f'{{"sku": "SKU-{n:05}", "title": "A fine lamp"}}\n' for n in numbers).encode())


def test_rows_behind_a_torn_member_are_read_and_the_damage_is_counted_once(tmp_path: Path) -> None:
    """Killed in the seventh member; the next run fetches that page again and appends (B65 of the public reports)."""
    whole = [member(n) for n in range(1, 21)]
    before = b"".join(whole[:6])
    rows = read("jsonl", before + whole[6][:30] + b"".join(whole[6:]), tmp_path, "out.jsonl.gz")
    assert keys(rows) == [f"SKU-{n:05}" for n in range(1, 21)]
    assert rows.damage == (f"member 7 at byte {len(before)}: torn",)
    assert not rows.in_commit


def flushed(*lines: str) -> bytes:
    """A member of which each line has been flushed, without its end."""
    deflater = zlib.compressobj(wbits=31)
    return b"".join(deflater.compress(line.encode()) + deflater.flush(zlib.Z_SYNC_FLUSH) for line in lines)


@pytest.mark.parametrize(
    ("reader", "lines"),
    [
        ("jsonl", ['{"sku": "A"}\n', '{"sku": "B"}\n', '{"sku": "C", "ti']),
        ("json", ['[\n{"sku": "A"},\n', '{"sku": "B"},\n', '{"sku": "C", "ti']),
        ("csv", ["sku,title\n", "A,x\n", "B,x\n", 'C,"y']),
        ("csv", ["sku,title\n", "A,x\n", "B,x\n", "C,y"]),
        ("csv", ["sku,title\n", "A,x\n", "B,x\n", 'C,"y\n']),
    ],
)
def test_torn_member_gives_what_was_flushed_up_to_its_last_whole_record(
    reader: str, lines: list[str], tmp_path: Path
) -> None:
    rows = read(reader, flushed(*lines), tmp_path, "out.gz")
    assert (keys(rows), rows.damage, rows.in_commit) == (["A", "B"], ("member 1 at byte 0: torn",), True)
    behind = gzip.compress({"jsonl": b'{"sku": "D"}\n', "json": b'[{"sku": "D"}]', "csv": b"D,z\n"}[reader])
    rows = read(reader, flushed(*lines) + behind, tmp_path, "out.gz")
    assert (keys(rows), rows.damage, rows.in_commit) == (["A", "B", "D"], ("member 1 at byte 0: torn",), False)


def test_two_torn_members_in_a_row_are_two_damages(tmp_path: Path) -> None:
    first, second = flushed('{"sku": "A"}\n', '{"sk'), flushed('{"sku": "B"}\n', '{"sk')
    rows = read("jsonl", first + second, tmp_path, "out.jsonl.gz")
    assert keys(rows) == ["A", "B"]
    assert rows.damage == ("member 1 at byte 0: torn", f"member 2 at byte {len(first)}: torn")


def test_record_over_two_whole_members_is_one_and_padding_is_none(tmp_path: Path) -> None:
    data = gzip.compress(b'{"sku": "A", "ti') + gzip.compress(b'tle": "x"}\n') + bytes(512)
    rows = read("jsonl", data, tmp_path, "out.jsonl.gz")
    assert (keys(rows), rows.damage) == (["A"], ())


# JSON


@pytest.mark.parametrize(
    ("text", "found", "damage"),
    [
        ('[{"sku": "A"}, {"sku": "B"}]', "AB", None),
        ('\ufeff[{"sku": "A"}]', "A", None),
        ('{"count": 2, "items": [{"sku": "A"}, {"sku": "B"}]}', "AB", None),
        ('{"sku": "A", "tags": ["x"]}', "A", None),
        ('{"sku": "A", "offers": [{"sku": "no"}]}', "A", None),
        ("[]", "", None),
        ('[{"sku": "A"}, 7]', "A", "item 2: not an object"),
        ('"text"', "", "byte 0: neither an array nor an object"),
        ('[{"sku": "A"},\n{"sku": "B"}', "AB", "byte 27: the closing bracket is missing"),
        ('[{"sku": "A"},\n', "A", "byte 15: the closing bracket is missing"),
        ('{"items": [{"sku": "A"},\n', "A", "byte 25: the closing bracket is missing"),
        ("[", "", "byte 0: the closing bracket is missing"),
        ('[{"sku": "A"},]', "A", "byte 14: a comma before the closing bracket"),
        ('[{"sku": "A"}][{"sku": "B"}]', "AB", "byte 13: another array begins"),
        ('[{"sku": "A"},\n[{"sku": "B"}]', "AB", "byte 15: another array begins"),
        ('[][{"sku": "B"}]', "B", "byte 0: another array begins"),
        ('{"items": [{"sku": "A"}]}{"items": [{"sku": "B"}]}', "AB", "byte 23: another array begins"),
        ('[{"sku": "A"} {"sku": "B"}]', "AB", "byte 14: no comma between two objects"),
        ('{"sku": "A"}, {"sku": "B"}]', "AB", "byte 0: no opening bracket"),
        ('[{"sku": "A"}, {"sku": "B", "ti', "A", 'byte 15: half a record: \'{"sku": "B", "ti\''),
        ('[{"sku": "A"}, {"sku": "B", "ti[{"sku": "C"}]', "AC", 'byte 15: half a record: \'{"sku": "B", "ti[\''),
        ('[{"sku": "A"}, {"sku": "B", "price": NaN}]', "AB", "byte 15: JSON is malformed: invalid character (byte 22)"),
    ],
)
def test_whole_objects_of_an_array_are_rows_and_what_is_wrong_is_named_once(
    text: str, found: str, damage: str | None, tmp_path: Path
) -> None:
    rows = read("json", text, tmp_path)
    assert keys(rows) == list(found)
    assert rows.damage == (() if damage is None else (damage,))
    assert rows.in_commit == (damage is not None and ("missing" in damage or text.endswith('"ti')))


def test_offsets_are_bytes_and_a_cut_character_spoils_its_own_value_only(tmp_path: Path) -> None:
    rows = read("json", '[{"sku": "A", "title": "é"}, '.encode() + b'{"sku": "B", "title": "\xc3"}]', tmp_path)
    assert [(row.key, row.values.get("title")) for row in rows.rows] == [("A", "é"), ("B", None)]
    assert rows.damage == ("byte 30: no UTF-8 in title",)


def test_object_without_the_key_is_a_row_without_a_key(tmp_path: Path) -> None:
    for text in ('[{"art": "A"}, {"sku": "B"}]', '[{"sku": null}, {"sku": "B"}]'):
        rows = read("json", text, tmp_path)
        assert [(row.key, row.place) for row in rows.rows] == [(None, "item 1"), ("B", "item 2")]


@pytest.mark.parametrize(
    ("reader", "text", "there"),
    [
        ("json", '{"art": "A", "tags": ["x"]}', "art, tags"),
        ("json", '{"a": [], "b": []}', "a, b"),
        ("json", '[{"art": "A"}, {"price": 1}]', "art, price"),
        ("jsonl", '{"art": "A"}\n{"art": "B", "price": 1}\n', "art, price"),
        ("jsonl", '{"art": "A"}', "art"),
        ("csv", "art,price\nA,1\n,2\n", "art, price"),
        ("csv", "art,price\n", "art, price"),
        ("csv", "sku;price\nA;1,00\nB;2,00\n", "sku;price"),
    ],
)
def test_store_without_the_key_is_a_mistake_of_the_manifest(reader: str, text: str, there: str, tmp_path: Path) -> None:
    assert ", ".join(read(reader, text, tmp_path).instead or ()) == there


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("json", '[{"art": "A"}, {"ar'),
        ("json", '[{"art": "A"}, 7]'),
        ("json", '[{"sku": null}]'),
        ("json", "[]"),
        ("json", "[7]"),
        ("jsonl", '{"price": 1}\n{"sk'),
        ("jsonl", '"sku": "A",\n{"price": 1}\n'),
        ("jsonl", '{"sku": null}\n'),
        ("jsonl", '{"art": "A"}\n{"sku": "B"}\n'),
        ("jsonl", "\n"),
        ("csv", "sk"),
        ("csv", "s,price"),
        ("csv", "sku,price\n"),
        ("csv", "sku,price\n,2\n"),
        ("csv", "\n"),
    ],
)
def test_store_that_is_torn_or_has_no_keys_yet_is_none(reader: str, text: str, tmp_path: Path) -> None:
    assert not read(reader, text, tmp_path).instead


def test_key_need_not_stand_in_every_file_of_a_pattern(tmp_path: Path) -> None:
    needs = StoreNeeds("csv", "*.csv", key="sku")
    (tmp_path / "a.csv").write_text("time,pages\n1,2\n")
    (tmp_path / "b.csv").write_text("sku\n")
    assert snapshot.take(needs, tmp_path, tmp_path / "scratch", 0).instead == ()
    (tmp_path / "b.csv").write_text("art\n")
    taken = snapshot.take(needs, tmp_path, tmp_path / "scratch", 0)
    assert taken.instead == ("time", "pages", "art")
    # Of a trial that killed a writer there is a verdict all the same.
    assert (taken.error, len(taken.rows)) == (None, 1)


def test_deeply_nested_array_is_damage(tmp_path: Path) -> None:
    rows = read("json", '[{"sku": "A"}, ' + '{"a":' * 100_000, tmp_path)
    assert keys(rows) == ["A"]
    assert len(rows.damage) == 1


# CSV


def test_table_is_read_with_its_delimiter_and_quotes(tmp_path: Path) -> None:
    text = '\ufeffsku;title;price\r\nA;"one; two";1.00\r\n\r\nB;"say ""hi""\nthere";\r\nC;5" disk;2'
    rows = read("csv", text, tmp_path, delimiter=";")
    assert [(row.key, row.values["title"], row.values["price"], row.place) for row in rows.rows] == [
        ("A", "one; two", "1.00", "line 2"),
        ("B", 'say "hi"\nthere', "", "line 4"),
        ("C", '5" disk', "2", "line 6"),
    ]
    assert (rows.damage, rows.in_commit) == ((), False)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_header_on_every_start_is_damage_of_its_own_line(mark: str, tmp_path: Path) -> None:
    rows = read("csv", f"{mark}sku,price\nA,1\n{mark}sku,price\nB,2\n{mark}sku,price\nC,3\n", tmp_path)
    assert keys(rows) == ["A", "B", "C"]
    assert rows.damage == ("line 3: the header again", "line 5: the header again")


def test_row_with_too_few_or_too_many_fields_counts_with_its_key_alone(tmp_path: Path) -> None:
    rows = read("csv", "sku,title,price\nA,x\nB,x,1,2\nC\nD,x,1\n", tmp_path)
    assert [(row.key, len(row.values)) for row in rows.rows] == [("A", 0), ("B", 0), ("D", 3)]
    assert rows.damage == (
        "line 2: 2 fields instead of 3",
        "line 3: 4 fields instead of 3",
        "line 4: 1 fields instead of 3",
    )


def test_half_a_row_at_the_end_is_damage_and_no_row(tmp_path: Path) -> None:
    rows = read("csv", "sku,title,price\nA,x,1\nB,x", tmp_path)
    assert (keys(rows), rows.damage, rows.in_commit) == (["A"], ("line 3: half a row: 'B,x'",), True)


def test_quote_left_open_does_not_swallow_the_rows_behind_it(tmp_path: Path) -> None:
    rows = read("csv", 'sku,title,price\nA,x,1\nB,"half a\nC,x,1\nD,"y, z",2\nE,x,1\n', tmp_path)
    assert keys(rows) == ["A", "C", "D", "E"]
    assert rows.damage == ("line 3: a quote is never closed: 'B,\"half a'",)


def test_quote_closed_by_accident_does_not_swallow_rows_either(tmp_path: Path) -> None:
    text = 'sku,title,price\nA,"half\nB,x,"1"\nC,x,1\n'
    assert len(list(csv.reader(io.StringIO(text), strict=False))) < 4
    rows = read("csv", text, tmp_path)
    assert keys(rows) == ["B", "C"]
    assert len(rows.damage) == 1
    rows = read("csv", 'sku,title,price\nA,"half\nB,",x",1\nC,x,1\n', tmp_path)
    assert (keys(rows), len(rows.damage)) == (["B", "C"], 1)


def test_header_glued_onto_half_a_header_is_the_header(tmp_path: Path) -> None:
    rows = read("csv", "sku,tisku,title,price\nA,x,1\n", tmp_path)
    assert (keys(rows), rows.rows[0].values["price"]) == (["A"], "1")
    assert rows.damage == ("line 1: half a header, and the header again behind it",)
    rows = read("csv", "aa,sku,a\nx,A,1\n", tmp_path)
    assert (keys(rows), rows.damage) == (["A"], ())


def test_value_cut_in_a_character_is_left_out_of_its_row(tmp_path: Path) -> None:
    assert read("csv", b"sku,title\nA\xc3,x\n", tmp_path).rows == ()
    rows = read("csv", b"sku,title,price\nA,K\xc3,1\nB,x,2\nC,x,\xc3", tmp_path)
    assert [(row.key, row.values.get("title")) for row in rows.rows] == [("A", None), ("B", "x")]
    assert rows.damage == ("line 2: no UTF-8 in title", "line 4: half a row: 'C,x,\\\\xc3'")


def test_row_without_the_key_is_a_row_without_a_key(tmp_path: Path) -> None:
    assert keys(read("csv", "sku,price\n,2\n", tmp_path)) == [None]


def test_large_field_is_read(tmp_path: Path) -> None:
    page = "x" * 500_000
    assert read("csv", f"sku,page\nA,{page}\n", tmp_path).rows[0].values["page"] == page


def test_files_of_a_pattern_are_named_in_every_place(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"sku": name}])[:-1])
    rows = store.read(StoreNeeds("json", "*.json", key="sku"), tmp_path, tmp_path)
    assert rows is not None
    assert [(row.key, row.place) for row in rows.rows] == [("a", "a.json item 1"), ("b", "b.json item 1")]
    assert rows.damage[1] == "b.json byte 13: the closing bracket is missing"
