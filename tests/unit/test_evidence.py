"""Evidence on disk: written, read back by the line, and refused when it is damaged."""

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import is_dataclass
from pathlib import Path

import msgspec
import pytest
from effects_builder import clean
from evidence_builder import CLEAN, crawl, evidence, incarnation, product, request, row, struck, truth
from killtest import judge as judge_package
from killtest.errors import UsageError
from killtest.judge import request_log
from killtest.judge import truth as truths
from killtest.judge.evidence import Counts, Evidence, Request, read, write_course, write_effects
from killtest.judge.request_log import first_missing
from killtest.judge.truth import Product, Truth, numbers_of
from killtest.judge.verdict import judge
from killtest.pieces import Pieces
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace


def write_truth(folder: Path, told: Truth) -> None:
    """The truth as a trial stores it."""
    (folder / "truth.json").write_bytes(msgspec.json.encode(told) + b"\n")


def store(told: Evidence, folder: Path, log: Sequence[Request] | None = None) -> Path:
    """The folder of a trial that left this evidence."""
    lines = told.requests if log is None else log
    write_course(folder, told.course, Counts(len({one.seq for one in lines}), len(told.truth.rows)))
    write_truth(folder, told.truth)
    (folder / "site.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    return folder


TOLD = evidence(
    CLEAN[:2],
    Snapshot(1, (*CLEAN, row(1), Row(None, {"price": 9.5}, "row 7")), ("line 8: torn",)),
    requests=[*crawl(), request(7, "/product/5", incarnation=1)],
    faults=(replace(struck(), t_s=4.5, window=None),),
    incarnations=(incarnation(ended_s=4.5, exit=-9, ended_by="fault"), incarnation(1)),
    ports=(80,),
    hung_on=("a",),
)


def test_what_was_written_is_read_back_and_judged_alike(tmp_path: Path) -> None:
    found = read(store(TOLD, tmp_path), is_control=False, planned_faults=1)
    assert [tuple(one.rows) for one in found.course.snapshots] == [tuple(one.rows) for one in TOLD.course.snapshots]
    assert (tuple(found.truth.rows), found.truth.minimum) == (TOLD.truth.rows, 6)
    assert tuple(found.requests) == TOLD.requests
    assert judge(found) == judge(TOLD)
    assert (found.course.ports, found.course.hung_on) == ((80,), ("a",))
    assert (found.is_control, found.planned_faults) == (False, 1)


def test_faults_are_located_as_the_evidence_is_read(tmp_path: Path) -> None:
    (fault,) = read(store(TOLD, tmp_path), is_control=False, planned_faults=1).course.faults
    assert (fault.window, fault.in_flight, fault.since_first_request_s) == ("between", (), 3.5)


@pytest.mark.parametrize("count", [0, 1, 2000])
def test_truth_of_any_size_is_read(count: int, tmp_path: Path) -> None:
    """2,000 products take several blocks, whose borders fall anywhere."""
    write_truth(tmp_path, truth(count, versions=3, pages=2))
    found = truths.read(tmp_path / "truth.json")
    assert (found.minimum, tuple(found.rows)) == (2 * count + 1, truth(count, 3, 2).rows)


def test_truth_in_another_layout_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_bytes(msgspec.json.format(msgspec.json.encode(truth()), indent=1))
    found = truths.read(tmp_path / "truth.json")
    assert (found.minimum, tuple(found.rows)) == (6, truth().rows)


def test_text_that_looks_like_the_border_of_two_products_is_text(tmp_path: Path) -> None:
    tricky = Product(']},{"key":"x', ("]}", '{"key":'), ({"title": ']},{"key":', "price": '"]},{"key":"'},) * 2)
    write_truth(tmp_path, Truth(3, (tricky, tricky, product(1))))
    assert tuple(truths.read(tmp_path / "truth.json").rows) == (tricky, tricky, product(1))


def test_truth_is_read_by_number_and_by_key(tmp_path: Path) -> None:
    write_truth(tmp_path, truth(3, versions=2, pages=2))
    found = truths.read(tmp_path / "truth.json")
    assert (found.minimum, len(found.rows)) == (7, 3)
    assert [found.rows[number] for number in (2, 0, 1)] == [truth(3, 2, 2).rows[number] for number in (2, 0, 1)]
    assert numbers_of(found.rows) == numbers_of(truth(3).rows) == {"SKU-00001": 0, "SKU-00002": 1, "SKU-00003": 2}
    assert truths.read(tmp_path / "truth.json").rows[-1].key == "SKU-00003"


def test_rows_of_each_snapshot_are_its_own_and_empty_ones_stay_empty(tmp_path: Path) -> None:
    told = evidence(CLEAN[:1], [], CLEAN[1:], Snapshot(3, error="locked", in_commit=True))
    found = read(store(told, tmp_path), is_control=True, planned_faults=0).course.snapshots
    assert [[one.key for one in taken.rows] for taken in found] == [
        ["SKU-00001"],
        [],
        [f"SKU-{n:05}" for n in range(2, 6)],
        [],
    ]
    assert (found[3].error, found[3].in_commit, found[0].in_commit) == ("locked", True, False)


def test_log_is_in_the_order_of_arrival_with_the_later_line_of_a_request(tmp_path: Path) -> None:
    lines = [request(3, "/c"), request(1, "/a", outcome="open", ended_s=None), request(2, "/b"), request(1, "/a")]
    lines += [request(4, "/d", outcome="open", ended_s=None)]
    found = request_log.read(store(evidence(CLEAN), tmp_path, lines) / "site.jsonl")
    assert [(one.seq, one.outcome) for one in found] == [(1, "sent"), (2, "sent"), (3, "sent"), (4, "open")]
    assert len(found) == 4


def test_empty_log_holds_no_request(tmp_path: Path) -> None:
    assert list(read(store(evidence(CLEAN, requests=[]), tmp_path), is_control=False, planned_faults=0).requests) == []


@pytest.mark.parametrize("name", ["course.json", "snapshot.jsonl", "truth.json", "site.jsonl"])
@pytest.mark.parametrize("damage", ["gone", "cut short", "no object"])
def test_evidence_that_is_missing_or_damaged_is_refused_with_its_folder(name: str, damage: str, tmp_path: Path) -> None:
    path = store(TOLD, tmp_path) / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-5] if damage == "cut short" else content[:-2] + b"\n[]\n")
    with pytest.raises(UsageError, match=f"{tmp_path}: no complete evidence: "):
        read(tmp_path, is_control=False, planned_faults=1)


def drop_lines(path: Path, first: int, last: int | None = None) -> None:
    """Leave these lines of the file out."""
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[first:last]
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("name", "first", "last", "complaint"),
    [
        ("snapshot.jsonl", 0, None, "incarnations 0, 1 ran, and there are snapshots of none"),
        ("snapshot.jsonl", -1, None, "6 of 7 rows after incarnation 1"),
        ("snapshot.jsonl", 1, 2, "1 of 2 rows after incarnation 0"),
        ("snapshot.jsonl", 3, None, "incarnations 0, 1 ran, and there are snapshots of 0"),
        ("snapshot.jsonl", 0, 3, "incarnations 0, 1 ran, and there are snapshots of 1"),
        ("site.jsonl", 0, None, "site.jsonl has no line for request 1"),
        ("site.jsonl", 0, 1, "site.jsonl has no line for request 1"),
        ("site.jsonl", 2, 4, "site.jsonl has no line for request 3"),
        ("site.jsonl", -1, None, "site.jsonl has no line for request 7"),
    ],
)
def test_evidence_with_whole_lines_missing_is_refused(
    name: str, first: int, last: int | None, complaint: str, tmp_path: Path
) -> None:
    drop_lines(store(TOLD, tmp_path) / name, first, last)
    with pytest.raises(UsageError, match=f"{tmp_path}: no complete evidence: {complaint}$"):
        read(tmp_path, is_control=False, planned_faults=1)


def test_truth_with_fewer_products_is_refused(tmp_path: Path) -> None:
    store(TOLD, tmp_path)
    write_truth(tmp_path, replace(TOLD.truth, rows=TOLD.truth.rows[:-1]))
    with pytest.raises(UsageError, match=r"no complete evidence: truth\.json holds 4 of 5 products"):
        read(tmp_path, is_control=False, planned_faults=1)


def test_truth_with_more_products_than_were_counted_is_refused_too(tmp_path: Path) -> None:
    store(TOLD, tmp_path)
    write_truth(tmp_path, replace(TOLD.truth, rows=(*TOLD.truth.rows, TOLD.truth.rows[0])))
    with pytest.raises(UsageError, match=r"truth\.json holds 6 of 5 products"):
        read(tmp_path, is_control=False, planned_faults=1)


@pytest.mark.parametrize(
    ("seqs", "count", "missing"),
    [
        ((1, 2, 3), 3, None),
        ((1, 3), 3, 2),
        ((1, 2, 4), 4, 3),
        ((1, 2, 3), 4, 4),
        ((1, 2), 3, 3),
        ((1,), 2, 2),
        ((), 1, 1),
        ((1, 2, 4), 2, None),
        ((1, 2, 4), 1, None),
        ((1, 2, 3, 5), 2, None),
        ((1, 3), None, 2),
        ((2,), None, 1),
        ((), None, None),
    ],
)
def test_first_request_without_a_line(seqs: tuple[int, ...], count: int | None, missing: int | None) -> None:
    assert first_missing([request(seq, "/list/0") for seq in seqs], count) == missing


def test_evidence_of_an_older_killtest_has_no_counts_and_is_read(tmp_path: Path) -> None:
    store(TOLD, tmp_path)
    write_course(tmp_path, TOLD.course)
    heads = (tmp_path / "snapshot.jsonl").read_bytes()
    (tmp_path / "snapshot.jsonl").write_bytes(heads.replace(b',"count":2}', b"}").replace(b',"count":7}', b"}"))
    found = read(tmp_path, is_control=False, planned_faults=1)
    assert judge(found) == judge(TOLD)
    drop_lines(tmp_path / "site.jsonl", 2, 3)
    with pytest.raises(UsageError, match="no line for request 3"):
        read(tmp_path, is_control=False, planned_faults=1)


def test_requests_that_came_after_the_count_may_be_missing(tmp_path: Path) -> None:
    """A process that outlived its trial was asking while the site ended."""
    store(TOLD, tmp_path, [*TOLD.requests, request(9, "/product/1", incarnation=1)])
    write_course(tmp_path, TOLD.course, Counts(7, 5))
    assert len(read(tmp_path, is_control=False, planned_faults=1).requests) == 8


@pytest.mark.parametrize("name", ["course.json", "snapshot.jsonl", "truth.json", "site.jsonl"])
@pytest.mark.parametrize("damage", ["bad UTF-8", "wrong type", "nested"])
def test_value_that_cannot_be_one_is_refused_wherever_it_stands(name: str, damage: str, tmp_path: Path) -> None:
    """Rows, products and requests are read when they are judged; by then it is too late for one line."""
    path = store(TOLD, tmp_path) / name
    last = {"course.json": b'"a"', "snapshot.jsonl": b'"row 7"', "truth.json": b'"5.00"', "site.jsonl": b'"/product/5"'}
    value = {"bad UTF-8": b'"\xff"', "wrong type": b"{}", "nested": b"[" * 100_000}[damage]
    before, _, behind = path.read_bytes().rpartition(last[name])
    path.write_bytes(before + value + behind)
    with pytest.raises(UsageError, match=f"{tmp_path}: no complete evidence: ") as caught:
        read(tmp_path, is_control=False, planned_faults=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", [b"", b"]", b"]}]}x", b"]}x]}", b"]}]} ]}"])
def test_truth_that_does_not_end_as_a_list_of_products_does_is_refused(end: bytes, tmp_path: Path) -> None:
    path = store(TOLD, tmp_path) / "truth.json"
    path.write_bytes(path.read_bytes().removesuffix(b"]}]}\n") + end)
    with pytest.raises(UsageError, match="no complete evidence"):
        read(tmp_path, is_control=False, planned_faults=1)


def test_data_of_the_judge_are_frozen() -> None:
    modules = [
        importlib.import_module(f"killtest.judge.{one.name}") for one in pkgutil.iter_modules(judge_package.__path__)
    ]
    structs = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    kinds = [one for one in structs if issubclass(one, msgspec.Struct) and one is not msgspec.Struct]
    assert len(kinds) > 10
    assert [one for one in kinds if not one.__struct_config__.frozen] == []
    plain = [one for one in structs if is_dataclass(one)]
    assert plain
    assert [one for one in plain if not one.__dataclass_params__.frozen] == []


def test_row_of_no_snapshot_is_refused(tmp_path: Path) -> None:
    path = store(TOLD, tmp_path) / "snapshot.jsonl"
    path.write_bytes(path.read_bytes() + b'{"in":7,"key":null,"values":{},"place":"row 1"}\n')
    with pytest.raises(UsageError, match="a row of incarnation 7, of which there is no snapshot"):
        read(tmp_path, is_control=False, planned_faults=1)


# Pieces of a file


@pytest.fixture
def lines(tmp_path: Path) -> Pieces[str]:
    """Lines of several lengths, the last without its newline."""
    texts = ["x" * n for n in (1, 3000, 5, 9000)]
    (tmp_path / "lines").write_text("\n".join(texts))
    found = Pieces(tmp_path / "lines", lambda line: line.decode().rstrip("\n"))
    for place, text in enumerate(texts):
        found.add(sum(len(before) + 1 for before in texts[:place]), len(text) + 1)
    return found


def test_every_line_is_read_alike_by_number_and_in_turn(lines: Pieces[str]) -> None:
    assert [len(line) for line in lines] == [1, 3000, 5, 9000]
    assert [lines[number] for number in range(4)] == list(lines)
    assert (lines[-1], len(lines)) == (list(lines)[-1], 4)


def test_part_of_the_lines_in_another_order(lines: Pieces[str]) -> None:
    assert list(lines[0:3:2]) == [lines[0], lines[2]]
    assert list(lines[::-1]) == [lines[number] for number in (3, 2, 1, 0)]


def test_line_behind_the_last_is_an_index_error(lines: Pieces[str]) -> None:
    with pytest.raises(IndexError):
        lines[4]


def test_file_is_closed_with_its_lines(tmp_path: Path) -> None:
    write_truth(tmp_path, truth())
    before = len(list(Path("/proc/self/fd").iterdir()))
    found: Truth | None = truths.read(tmp_path / "truth.json")
    assert found is not None
    assert (found.rows[0].key, len(list(Path("/proc/self/fd").iterdir()))) == ("SKU-00001", before + 1)
    found = None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_effects_are_read_back_and_judged_alike(tmp_path: Path) -> None:
    crawl_of_all = clean()
    crawl_of_all.files.pop()
    told = crawl_of_all.evidence
    store(told, tmp_path)
    (tmp_path / "truth.json").write_bytes(truths.to_json(told.truth))
    write_effects(tmp_path, told.effects)
    found = read(tmp_path, is_control=False, planned_faults=0)
    assert judge(found) == judge(told)
    assert judge(found).effects.named == {"files.missing": {"SKU-00005": "no picture of it"}}
    assert found.truth.lists == told.truth.lists


def test_a_truth_with_many_list_pages_is_read_by_the_line(tmp_path: Path) -> None:
    lists = {f"/list/{number}": "0" * 64 for number in range(9000)}
    (tmp_path / "truth.json").write_bytes(truths.to_json(replace(truth(), lists=lists)))
    found = truths.read(tmp_path / "truth.json")
    assert isinstance(found.rows, truths.Shelf)
    assert (found.lists, tuple(found.rows)) == (lists, truth().rows)


def test_effects_that_nobody_declares_any_more_are_incomplete_evidence(tmp_path: Path) -> None:
    """Without the file nothing of them would be judged, and a trial that had failed would pass."""
    crawl = clean()
    crawl.files.pop()
    store(crawl.evidence, tmp_path)
    (tmp_path / "truth.json").write_bytes(truths.to_json(crawl.truth))
    with pytest.raises(
        UsageError, match=r"no complete evidence: effects\.json is not there, and snapshots hold effects"
    ):
        read(tmp_path, is_control=True, planned_faults=0)


def test_a_subject_without_effects_leaves_no_file_about_them(tmp_path: Path) -> None:
    write_effects(tmp_path, evidence(CLEAN).effects)
    assert list(tmp_path.iterdir()) == []
