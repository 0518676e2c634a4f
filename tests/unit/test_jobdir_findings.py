"""Each damage of a JOBDIR, planted byte by byte, gives exactly its finding, and the words say what a resume does."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import jobdir_builder as build
import pytest
from jobdir_builder import FOLDER, INDEX, KINDS, QUEUE, SEEN, SLOT, START, STATE, chunk, info, lifo, record, records
from killtest.jobdir import JobDir, inspect, is_one

Plant = Callable[[Path], object]
STRUCT_ERROR = f"opening {QUEUE} raises struct.error"
NEVER_LOST = "nothing is forgotten"


def names(found: JobDir) -> list[str]:
    return [one.name for one in found.findings]


def told(found: JobDir) -> str:
    return "; ".join(found.resume.words)


def look(folder: Path, files: dict[str, bytes], kind: str = "lifo", without: tuple[str, ...] = ()) -> JobDir:
    """Inspect a clean JOBDIR with some files replaced and others removed."""
    job = build.clean(folder / "job", kind)
    build.write(job, files)
    for name in without:
        (job / name).unlink()
    before = build.state_of(job)
    found = inspect(job)
    assert build.state_of(job) == before
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_stop(kind: str, tmp_path: Path) -> None:
    found = look(tmp_path, {}, kind)
    assert (found.findings, found.fingerprints, found.cut_bytes) == ((), 5, 0)
    assert (found.index, found.state) == ({SLOT: (0,)}, {"count": 2, "urls": 2})
    (queue,) = found.queues
    assert (queue.path, queue.kind, queue.slot, queue.priority) == (QUEUE, kind, SLOT, 0)
    assert (queue.start, queue.listed, queue.records) == (False, True, 5 if kind == "fifo" else 3)
    assert (queue.pending.requests, queue.believed, found.resume.loads, found.resume.forgets) == (3, 3, 3, 0)
    order = [5, 4, 3] if kind == "lifo" else [3, 4, 5]
    assert [one.url for one in queue.first] == [build.url(number) for number in order]
    assert {(one.method, one.callback, one.priority, one.is_known) for one in queue.first} == {
        ("GET", "parse", 0, True)
    }
    assert found.resume.words == (
        "a resume loads 3 of 3 queued requests",
        "5 fingerprints are known: links to those pages are filtered",
        NEVER_LOST,
        "spider.state is restored: count=2, urls=2",
    )


def test_a_finished_crawl_is_no_finding(tmp_path: Path) -> None:
    found = look(tmp_path, {INDEX: b"{}"}, without=(QUEUE,))
    assert (names(found), found.resume.loads) == ([], 0)
    assert told(found).startswith("no request is queued: a resume makes its start requests")


def test_a_folder_that_nothing_was_written_to_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "requests.queue").mkdir()
    (tmp_path / SEEN).touch()
    found = inspect(tmp_path)
    assert (names(found), found.index, found.resume.loads) == ([], None, 0)


def test_no_index(tmp_path: Path) -> None:
    found = look(tmp_path, {}, without=(INDEX,))
    assert names(found) == ["no_index", "seen_without_queue"]
    assert (found.index, found.resume.loads, found.resume.forgets) == (None, 0, 3)
    assert "active.json is missing: no queue is loaded" in told(found)
    assert f"{QUEUE} (LIFO, 3 records) is not loaded before the spider queues a request there" in told(found)
    assert "then 3 of its requests are made as well" in told(found)
    assert "3 queued requests are forgotten; the fingerprints of 3 are known" in told(found)


def test_no_index_behind_a_kill_of_the_first_run(tmp_path: Path) -> None:
    killed = {QUEUE: lifo(records(3, 4, 5), header=0), SEEN: b""}
    found = look(tmp_path, killed, without=(INDEX, STATE))
    assert names(found) == ["lifo_header_differs", "no_index"]
    assert f"{QUEUE} (LIFO, 3 records) is not loaded: it is deleted once the new requests in it are made" in told(found)
    assert "no fingerprint is known: a page is fetched again" in told(found)
    assert "3 queued requests are forgotten; made again only where a link" in told(found)
    assert "there is no spider.state: it begins empty" in told(found)


@pytest.mark.parametrize("index", [b"", b"{", b"7", b"\xff", b'{"shop.test": 5}', b'{"shop.test": ["0"]}', b"[" * 9999])
def test_bad_index(index: bytes, tmp_path: Path) -> None:
    found = look(tmp_path, {INDEX: index})
    assert names(found) == ["bad_index", "seen_without_queue"]
    assert (found.index, found.resume.loads, found.resume.forgets) == ("unreadable", 0, 3)
    assert told(found).startswith("a resume fails at its start: active.json can't be used")


def test_queue_not_listed(tmp_path: Path) -> None:
    found = look(tmp_path, {f"{FOLDER}/-1": lifo(records(6))})
    assert [(one.name, one.path) for one in found.findings] == [("queue_not_listed", f"{FOLDER}/-1")]
    assert (found.resume.loads, found.resume.forgets) == (3, 1)
    assert "1 queued request is forgotten; made again only where a link" in told(found)


def test_an_empty_index_beside_a_full_queue(tmp_path: Path) -> None:
    found = look(tmp_path, {INDEX: b"{}"})
    assert names(found) == ["queue_not_listed", "seen_without_queue"]


@pytest.mark.parametrize("index", [b"[]", b"null", b"0", b'""', b'{"shop.test": null}'])
def test_every_empty_index_is_one(index: bytes, tmp_path: Path) -> None:
    found = look(tmp_path, {INDEX: index}, without=(QUEUE,))
    assert "bad_index" not in names(found)
    assert found.index in ({}, {SLOT: ()})


def test_listed_without_file(tmp_path: Path) -> None:
    found = look(tmp_path, {INDEX: json.dumps({SLOT: [0, 7], "other.test": [1]}).encode()})
    assert [one.name for one in found.findings] == ["listed_without_file"] * 2
    assert "lists priority 7 of shop.test" in found.findings[0].words
    assert found.resume.loads == 3
    assert "nothing in a queue is forgotten; what was under way when a process was killed is in no file" in told(found)


def test_a_start_queue_alone_is_what_the_index_lists(tmp_path: Path) -> None:
    start = {f"{START}/q00000": chunk(records(3)), f"{START}/info.json": info(1)}
    found = look(tmp_path, start, without=(QUEUE,))
    assert (names(found), found.resume.loads, found.queues[0].start) == ([], 1, True)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0"])
def test_lifo_header_missing(data: bytes, tmp_path: Path) -> None:
    found = look(tmp_path / "listed", {QUEUE: data})
    assert names(found) == ["lifo_header_missing", "seen_without_queue"]
    assert found.queues[0].believed is None
    assert told(found).startswith(f"a resume fails at its start: {STRUCT_ERROR}; it makes no request, ends with exit ")
    found = look(tmp_path / "unlisted", {QUEUE: data, INDEX: b"{}"})
    assert names(found) == ["lifo_header_missing"]
    assert "each request queued there raises struct.error and is lost, and its fingerprint is kept" in told(found)


@pytest.mark.parametrize(
    ("header", "loads", "forgets", "words"),
    [
        (0, 0, 3, "it counts 0 requests and is deleted at the start"),
        (1, 1, 2, "it counts 1; its 2 oldest requests are deleted with it and never made"),
        (4, 3, 0, "behind 3 requests each further look raises, every 5 s, and the crawl never ends"),
        (1 << 31, 3, 0, "behind 3 requests each further look raises"),
    ],
)
def test_lifo_header_differs(header: int, loads: int, forgets: int, words: str, tmp_path: Path) -> None:
    found = look(tmp_path, {QUEUE: lifo(records(3, 4, 5), header)})
    assert names(found)[0] == "lifo_header_differs"
    assert (found.queues[0].records, found.queues[0].believed) == (3, header)
    assert (found.resume.loads, found.resume.forgets) == (loads, forgets)
    assert f"{QUEUE} (LIFO, 3 records): {words}" in told(found)


def test_lifo_torn_record(tmp_path: Path) -> None:
    found = look(tmp_path, {QUEUE: lifo(records(3, 4, 5))[:-3]})
    assert names(found)[:2] == ["lifo_torn_record", "lifo_header_differs"]
    assert (found.queues[0].records, found.resume.loads, found.resume.forgets) == (2, 0, 2)
    assert "behind 0 requests each further look raises" in told(found)


def test_a_size_that_reaches_into_the_header(tmp_path: Path) -> None:
    """The queue takes two bytes of its own header for a record, and counts itself empty then."""
    found = look(tmp_path, {QUEUE: lifo([], header=1) + (2).to_bytes(4, "big")})
    assert names(found)[0] == "lifo_torn_record"
    assert (found.queues[0].records, found.queues[0].then, found.queues[0].raising) == (0, "empty", 1)
    assert "never ends" not in told(found)


WAITS = f"{FOLDER}/1 (LIFO, 1 record) waits behind one that never gets empty"
B_TEST = "requests.queue/b.test-e902a182943e05420829a611f9dbd999/0"


@pytest.mark.parametrize(("header", "loads"), [(3, 7), (4, 6)])
def test_a_queue_that_never_gets_empty_keeps_the_next_one_waiting(header: int, loads: int, tmp_path: Path) -> None:
    """That of another slot goes on."""
    index = json.dumps({SLOT: [0, 1], "b.test": [0]}).encode()
    files = {QUEUE: lifo(records(3, 4, 5), header), f"{FOLDER}/1": lifo(records(6)), B_TEST: lifo(records(7, 8, 9))}
    found = look(tmp_path, {**files, INDEX: index})
    assert (found.resume.loads, WAITS in told(found)) == (loads, loads == 6)


def test_a_queue_that_gives_nothing_and_still_counts_keeps_the_next_one_waiting(tmp_path: Path) -> None:
    files = {f"{QUEUE}/info.json": info(4, (0, 2, len(chunk(records(1, 2))))), f"{FOLDER}/1": lifo(records(6))}
    found = look(tmp_path, {**files, INDEX: json.dumps({SLOT: [0, 1]}).encode()}, "fifo")
    assert (found.resume.loads, WAITS in told(found)) == (3, True)


@pytest.mark.parametrize("kind", ["lifo", "fifo"])
def test_a_queue_with_a_tail_of_zeros_is_not_taken_for_a_million_records(kind: str, tmp_path: Path) -> None:
    """Each would be a record without content, which raises every 5 s as it is taken."""
    name = QUEUE if kind == "lifo" else f"{QUEUE}/q00000"
    whole = (build.clean(tmp_path / "whole", kind) / name).read_bytes()
    files = {name: (b"\xff" * 4 + whole[4:] if kind == "lifo" else whole) + bytes(4_000_000)}
    found = look(tmp_path, files if kind == "lifo" else files | {f"{QUEUE}/info.json": info(1 << 40)}, kind)
    (queue,) = found.queues
    assert (queue.records, queue.raising) == (3 if kind == "lifo" else 5, 1000)
    assert f"{kind}_torn_record" in names(found)
    assert f"behind {queue.gives} requests each further look raises, every 5 s, and the crawl never ends" in told(found)


def test_fifo_no_info(tmp_path: Path) -> None:
    found = look(tmp_path / "listed", {}, "fifo", without=(f"{QUEUE}/info.json",))
    assert names(found) == ["fifo_no_info", "seen_without_queue"]
    assert (found.queues[0].records, found.queues[0].pending.requests, found.queues[0].believed) == (5, 5, 0)
    assert f"{QUEUE} (FIFO, 5 records): it counts 0 requests and is deleted at the start" in told(found)
    found = look(tmp_path / "unlisted", {}, "fifo", without=(f"{QUEUE}/info.json", INDEX))
    assert names(found) == ["fifo_no_info", "no_index", "seen_without_queue"]
    assert "new requests are appended behind its records, and the oldest are made, as many as are new" in told(found)


@pytest.mark.parametrize(
    ("size", "head", "loads", "forgets", "words"),
    [
        (2, (0, 4), 2, 1, "it counts 2; its 1 newest requests are deleted with it and never made"),
        (4, (0, 6), 3, 0, "behind 3 requests it gives none and still counts some: the crawl waits and never ends"),
        (3, (0, 4), 2, 1, "behind 2 requests it gives none and still counts some"),
    ],
)
def test_fifo_info_differs(
    size: int, head: tuple[int, int], loads: int, forgets: int, words: str, tmp_path: Path
) -> None:
    place = (0, 2, len(chunk(records(1, 2))))
    found = look(tmp_path, {f"{QUEUE}/info.json": info(size, place, head)}, "fifo")
    assert names(found) == ["fifo_info_differs"]
    assert (found.queues[0].believed, found.queues[0].pending.requests) == (size, 3)
    assert (found.resume.loads, found.resume.forgets) == (loads, forgets)
    assert words in told(found)


@pytest.mark.parametrize(
    ("data", "error", "pushed"),
    [
        (b"{", "JSONDecodeError", "goes into memory, as if it could not be serialized"),
        (b"{}", "KeyError", "each request queued there raises KeyError and is lost"),
        (b"7", "KeyError", "each request queued there raises KeyError and is lost"),
        (info(1 << 70), "ValueError", "each request queued there raises ValueError and is lost"),
        (info(-1), "ValueError", "each request queued there raises ValueError and is lost"),
    ],
)
def test_fifo_info_unreadable(data: bytes, error: str, pushed: str, tmp_path: Path) -> None:
    found = look(tmp_path / "listed", {f"{QUEUE}/info.json": data}, "fifo")
    assert names(found) == ["fifo_info_unreadable", "seen_without_queue"]
    assert f"a resume fails at its start: opening {QUEUE} raises {error}" in told(found)
    found = look(tmp_path / "unlisted", {f"{QUEUE}/info.json": data, INDEX: b"{}"}, "fifo")
    assert names(found)[0] == "fifo_info_unreadable"
    assert pushed in told(found)


def test_fifo_torn_record(tmp_path: Path) -> None:
    found = look(tmp_path, {f"{QUEUE}/q00000": chunk(records(1, 2, 3, 4, 5))[:-7]}, "fifo")
    assert names(found) == ["fifo_torn_record", "fifo_info_differs"]
    assert (found.queues[0].records, found.resume.loads) == (4, 2)
    assert "1 record can't be decoded: taking it out raises, and it is lost" in told(found)
    assert "never ends" not in told(found)


def test_fifo_chunk_missing(tmp_path: Path) -> None:
    table = json.loads(info(4, (0, 0, 0), (2, 0))) | {"chunksize": 2}
    files = {f"{QUEUE}/q00000": chunk(records(2, 3)), f"{QUEUE}/q00001": chunk(records(4, 5)), f"{QUEUE}/q00002": b""}
    files[f"{QUEUE}/info.json"] = json.dumps(table).encode()
    whole = look(tmp_path / "whole", files, "fifo")
    assert (names(whole), whole.resume.loads) == ([], 4)
    found = look(tmp_path / "second", files, "fifo", without=(f"{QUEUE}/q00001",))
    assert names(found) == ["fifo_chunk_missing", "fifo_info_differs"]
    assert "reads from q00001, which is not there" in found.findings[0].words
    assert "behind 1 requests each further look raises" in told(found)
    found = look(tmp_path / "first", files, "fifo", without=(f"{QUEUE}/q00000",))
    assert names(found)[0] == "fifo_chunk_missing"
    assert f"a resume fails at its start: opening {QUEUE} raises FileNotFoundError" in told(found)


@pytest.mark.parametrize("there", [None, b"", b"half a record"])
def test_an_empty_fifo_queue_whose_position_is_behind_its_chunk(there: bytes | None, tmp_path: Path) -> None:
    """A kill while an emptied queue is being removed: its chunk goes first, info.json last."""
    files = {f"{START}/info.json": info(0, (0, 1, 226))} | ({} if there is None else {f"{START}/q00000": there})
    found = look(tmp_path / "unlisted", files, without=(INDEX, QUEUE, STATE, SEEN))
    assert names(found)[-1] == ("fifo_chunk_missing" if there is None else "fifo_info_differs")
    assert "info.json reads on from byte 226 of q00000" in found.findings[-1].words
    assert f"{START} (FIFO, 0 records) is not loaded: the first request that the spider queues there is" in told(found)
    assert f"never read ({226 - len(there or b'')} bytes are skipped); then the crawl waits and has no end" in told(
        found
    )
    found = look(tmp_path / "listed", files, without=(QUEUE,))
    assert f"{START} (FIFO, 0 records): it counts 0 requests and is deleted at the start" in told(found)


@pytest.mark.parametrize(
    ("kind", "files", "words"),
    [
        ("lifo", {QUEUE: lifo(records(3, 4, 5), header=4)}, "3 of its requests are made as well, and the crawl has"),
        ("fifo", {f"{QUEUE}/info.json": info(6, (0, 0, 0))}, "5 of its requests are made as well, and the crawl has"),
    ],
)
def test_a_queue_that_is_not_listed_and_never_gets_empty(
    kind: str, files: dict[str, bytes], words: str, tmp_path: Path
) -> None:
    assert words in told(look(tmp_path, files, kind, without=(INDEX,)))


@pytest.mark.parametrize("size", [4096, 5000, 100])
def test_sqlite_damaged(size: int, tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job", "sqlite", tuple(range(3, 40)))
    (job / QUEUE).write_bytes((job / QUEUE).read_bytes()[:size])
    before = build.state_of(job)
    found = inspect(job)
    assert names(found) == ["sqlite_damaged", "seen_without_queue"]
    assert f"opening {QUEUE} raises sqlite3.DatabaseError" in told(found)
    assert build.state_of(job) == before


def test_sqlite_damaged_behind_its_count(tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job", "sqlite")
    with build.sqlite3.connect(job / QUEUE) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_sequence SET rowid = rowid")
        db.execute("CREATE TABLE more (a)")
        db.execute("UPDATE sqlite_master SET rootpage = 3 WHERE name = 'more'")
    db.close()
    found = inspect(job)
    assert names(found) == ["sqlite_damaged"]
    assert "taking a request out may raise" in found.findings[0].words
    assert found.resume.loads == 3


@pytest.mark.parametrize("kind", ["view", "table"])
def test_a_view_that_never_ends_in_the_place_of_the_queue(kind: str, tmp_path: Path) -> None:
    """Its file may call it a table."""
    job = build.clean(tmp_path / "job")
    (job / QUEUE).unlink()
    with build.sqlite3.connect(job / QUEUE) as db:
        db.execute(
            "CREATE VIEW queue AS WITH RECURSIVE n(id) AS (VALUES (1) UNION ALL SELECT id FROM n) SELECT * FROM n"
        )
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET type = ?", (kind,))
    db.close()
    assert names(inspect(job)) == ["sqlite_damaged", "seen_without_queue"]


def test_an_sqlite_queue_is_read_with_its_journal_from_a_copy(tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job", "sqlite")
    db = build.sqlite3.connect(job / QUEUE)
    db.execute("PRAGMA journal_mode = WAL")
    with db:
        db.execute("INSERT INTO queue (item) VALUES (?)", (record(6),))
    before = build.state_of(job)
    assert sorted(path.name for path in (job / FOLDER).iterdir()) == ["0", "0-shm", "0-wal"]
    found = inspect(job)
    assert build.state_of(job) == before
    db.close()
    assert (names(found), found.resume.loads) == ([], 4)


UNDECODABLE = {
    "cut": record(4)[:-20],
    "no pickle": b"\x80\x04junk",
    "a list": pickle.dumps([1], 4),
    "no url": pickle.dumps({"method": "GET"}, 4),
    "empty": b"",
}


@pytest.mark.parametrize("bad", UNDECODABLE.values(), ids=UNDECODABLE)
@pytest.mark.parametrize("kind", KINDS)
def test_undecodable_record(kind: str, bad: bytes, tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job", kind)
    items = [record(3), bad, record(5)]
    if kind == "lifo":
        build.write(job, {QUEUE: lifo(items)})
    elif kind == "fifo":
        build.write(job, {f"{QUEUE}/q00000": chunk(items), f"{QUEUE}/info.json": info(3)})
    else:
        (job / QUEUE).unlink()
        build.sqlite(job / QUEUE, items)
    found = inspect(job)
    assert names(found) == ["undecodable_record"]
    assert found.findings[0].words.startswith("1 of 3 records can't be decoded: ")
    assert (found.resume.loads, found.resume.forgets) == (2, 1)
    assert "1 record can't be decoded: taking it out raises, and it is lost" in told(found)


@pytest.mark.parametrize("cut", range(1, 22))
def test_seen_cut(cut: int, tmp_path: Path) -> None:
    whole = build.seen(1, 2, 3, 4, 5)
    found = look(tmp_path, {SEEN: whole[: 4 * 22 + cut]})
    assert names(found) == ["seen_cut"]
    assert (found.fingerprints, found.cut_bytes) == (4, cut)
    assert f"{cut} bytes of a record behind 4 whole ones" in found.findings[0].words


def test_seen_with_a_tail_of_zeros(tmp_path: Path) -> None:
    """They are empty fingerprints to Scrapy: counted, and told as one."""
    known = build.seen(1, 2, 3, 4, 5)
    found = look(tmp_path, {SEEN: known + bytes(4_000_001)})
    assert (names(found), found.fingerprints, found.cut_bytes) == (["seen_misread"], 6, 1)
    assert found.findings[0].words.startswith("behind 5 fingerprints 4000001 bytes are misread")


def test_seen_misread(tmp_path: Path) -> None:
    """Behind 8 bytes of a record, as a kill leaves them behind 372 whole ones, another run has appended."""
    whole = build.seen(*range(1, 41))
    found = look(tmp_path, {SEEN: whole[: 20 * 22 + 8] + whole[20 * 22 :]})
    assert names(found) == ["seen_misread"]
    assert found.fingerprints < 24
    assert "fingerprints are not known any more" in found.findings[0].words


@pytest.mark.parametrize("data", [b"", b"\x80\x04", b"\x80\x04}"])
def test_state_unreadable(data: bytes, tmp_path: Path) -> None:
    found = look(tmp_path, {STATE: data})
    assert (names(found), found.state, found.resume.loads) == (["state_unreadable"], "unreadable", 3)
    assert "the spider goes on without its attribute `state`, and the file is emptied" in told(found)


def test_seen_without_queue(tmp_path: Path) -> None:
    found = look(tmp_path, {}, without=(QUEUE,))
    assert names(found) == ["listed_without_file", "seen_without_queue"]
    assert found.findings[1].words == "5 fingerprints, and no queued request that a resume loads"


def test_unknown_file(tmp_path: Path) -> None:
    found = look(tmp_path, {"notes.txt": b"mine", f"{QUEUE}.bak": b"", "requests.queue/q00000": b""})
    assert [one.name for one in found.findings] == ["unknown_file"] * 3
    assert NEVER_LOST in told(found)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    job = build.clean(tmp_path / "job")
    for name in (SEEN, QUEUE, STATE):
        (job / name).unlink()
    os.mkfifo(job / SEEN)  # whoever opens it for reading waits for a writer
    (job / QUEUE).symlink_to("/dev/zero")
    (job / STATE).mkdir()
    found = inspect(job)
    assert names(found) == [*["unreadable_file"] * 3, "listed_without_file"]
    assert sorted(one.path for one in found.findings[:3]) == [QUEUE, SEEN, STATE]
    assert (found.fingerprints, found.state, found.queues) == (0, "unreadable", ())


def test_queues_without_slots(tmp_path: Path) -> None:
    """As scrapy.pqueues.ScrapyPriorityQueue writes them: active.json is a list."""
    files = {SEEN: build.seen(1, 2), INDEX: b"[0, -1]", "requests.queue/0": lifo(records(1)), "requests.queue/-1": b""}
    files["requests.queue/-1"] = lifo([record(2, priority=1)])
    found = inspect(build.write(tmp_path, files))
    assert (names(found), found.index, found.resume.loads) == ([], {"": (0, -1)}, 2)
    assert [(one.slot, one.priority, one.first[0].priority) for one in found.queues] == [("", -1, 1), ("", 0, 0)]


def test_names_that_a_terminal_would_act_on(tmp_path: Path) -> None:
    evil = "\x1b[2J\udc80"
    found = look(tmp_path, {QUEUE: lifo([record(3, url=f"http://shop.test/{evil}", callback=evil)]), "a\x1b[2Jb": b""})
    assert found.queues[0].first[0].url == "http://shop.test/\\x1b[2J\\udc80"
    assert found.findings[0].path == "a\\x1b[2Jb"
    assert "\x1b" not in str(found)


def test_what_makes_a_folder_a_jobdir(tmp_path: Path) -> None:
    assert not is_one(tmp_path)
    for name in (SEEN, STATE):
        assert is_one(build.write(tmp_path / name, {name: b""}))
