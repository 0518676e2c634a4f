"""Several workers on one store: killed, paused past their lease, slow, and whole crawlers side by side."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from crawler_run import CRAWLERS, Answer, list_html, product_html, real_site, scripted_shop, start
from killtest.conduct import trial
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.judge.lapses import Lapse
from killtest.judge.verdict import Verdict
from killtest.plan import manifest
from killtest.plan.campaign import Planned
from killtest.plan.manifest import SiteNeeds, Subject
from killtest.plan.schedule import Schedule
from msgspec.structs import replace

SHOP = SiteNeeds(products=30, list_pages=3)
STORES = ["idempotent", "idempotent_postgres"]


def subject(store: str, variant: str, **env: str) -> Subject:
    who = manifest.load(CRAWLERS / store / "subject.toml", variant)
    return replace(who, env={**who.env, **env})


def crawled(tmp_path: Path, who: Subject, *faults: str, shop: SiteNeeds = SHOP) -> tuple[Evidence, Verdict]:
    evidence = trial.run(Planned(who, Schedule("s", faults)), shop, tmp_path / "trial")
    found = verdict.judge(evidence)
    assert found.data is not None
    assert found.traffic is not None
    assert (found.outcome, found.data.rows) == ("PASS", SHOP.products), found
    assert all(one.status == "struck" for one in evidence.course.faults)
    assert evidence.course.orphans == evidence.course.zombies == ()
    return evidence, found


def requests(found: Verdict) -> tuple[int, int]:
    """Beyond the minimum, and the most at a time for one page."""
    assert found.traffic is not None
    return found.traffic.requests - SHOP.minimum, found.traffic.max_concurrent


def lapsed(found: Verdict) -> tuple[Lapse, ...]:
    assert found.traffic is not None
    assert found.traffic.lapsed.count == len(found.traffic.lapsed.leases)
    return found.traffic.lapsed.leases


def said(tmp_path: Path, incarnation: int = 0) -> str:
    return (tmp_path / "trial" / f"incarnation-{incarnation}.stderr").read_text()


@pytest.mark.parametrize("variant", ["threads2", "threads4", "processes2", "processes4"])
@pytest.mark.parametrize("store", STORES)
def test_each_page_is_asked_for_once(store: str, variant: str, tmp_path: Path) -> None:
    _, found = crawled(tmp_path, subject(store, variant))
    assert (requests(found), lapsed(found)) == ((0, 1), ())
    assert said(tmp_path) == "finished: 33 pages now, 33 known, 0 given up\n"


@pytest.mark.parametrize("store", STORES)
def test_a_worker_that_is_killed_is_replaced_and_its_page_taken_over(store: str, tmp_path: Path) -> None:
    who = subject(store, "processes4", LEASE_SECONDS="1")
    evidence, found = crawled(tmp_path, who, "request:/product/7 KILL scope=owner", "request:20 KILL scope=owner")
    assert [one.exit for one in evidence.course.incarnations] == [0]
    assert requests(found) == (2, 1)
    assert [(one.first, one.fault) for one in lapsed(found)] == [
        ("gone", one.planned) for one in evidence.course.faults
    ]
    assert lapsed(found)[0].url == "/product/7"
    assert said(tmp_path).count("died of SIGKILL; another takes its place") == 2


@pytest.mark.parametrize("store", STORES)
def test_a_worker_that_is_paused_past_its_lease_loses_its_page_and_stores_nothing(store: str, tmp_path: Path) -> None:
    # The answer is late as well: so both fetches are open at a time.
    who = subject(store, "processes4", LEASE_SECONDS="0.5")
    blow = "request:/product/7 STOP+CONT@2 scope=owner"
    _, found = crawled(tmp_path, who, "latency:/product/7=1.5*1", blow)
    assert requests(found) == (1, 2)
    [one] = lapsed(found)
    assert (one.url, one.first, one.fault) == ("/product/7", "open", blow)
    assert one.connection != one.again_connection
    assert "not stored: " in said(tmp_path)
    assert "/product/7: lease 1 is no longer the latest\n" in said(tmp_path)


@pytest.mark.parametrize("variant", ["threads2", "processes4"])
@pytest.mark.parametrize("store", STORES)
def test_a_page_slower_than_the_lease_is_fetched_once(store: str, variant: str, tmp_path: Path) -> None:
    who = subject(store, variant, LEASE_SECONDS="0.5")
    _, found = crawled(tmp_path, who, "latency:/product/6=2")
    assert (requests(found), lapsed(found)) == ((0, 1), ())


def test_without_a_heartbeat_it_would_be_fetched_again(tmp_path: Path) -> None:
    # That the one above proves something.
    who = subject("idempotent", "processes4", LEASE_SECONDS="0.5", HELD_SECONDS="0")
    _, found = crawled(tmp_path, who, "latency:/product/6=0.9*1")
    assert requests(found) == (1, 2)
    assert [(one.url, one.first, one.fault) for one in lapsed(found)] == [("/product/6", "open", None)]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("variant", ["threads4", "processes4"])
def test_all_of_them_are_killed_again_and_again(store: str, variant: str, tmp_path: Path) -> None:
    who = subject(store, variant, LEASE_SECONDS="1")
    evidence, found = crawled(tmp_path, who, "request:9 KILL", "request:9 TERM", "request:9 INT", "request:3 KILL")
    # Each of the four had at most one page in hand: at the site, or answered and not yet stored.
    assert 4 <= requests(found)[0] <= 4 * 4
    assert (requests(found)[1], lapsed(found)) == (1, ())
    assert [one.exit for one in evidence.course.incarnations] == [-9, -15, -2, -9, 0]
    assert [said(tmp_path, number) for number in (1, 2)] == [
        f"stopped by {name}; start it again to go on\n" for name in ("SIGTERM", "SIGINT")
    ]


@pytest.mark.parametrize("store", STORES)
def test_no_worker_outlives_its_parent(store: str, tmp_path: Path) -> None:
    who = subject(store, "processes4", LEASE_SECONDS="1")
    evidence, found = crawled(tmp_path, who, "request:9 KILL scope=pid", "request:12 KILL scope=pid")
    assert len(evidence.course.incarnations) == 3
    assert requests(found)[0] <= 8


@pytest.mark.parametrize("variant", ["threads4", "processes4"])
def test_the_server_may_die_while_all_of_them_ask_it(variant: str, tmp_path: Path) -> None:
    who = subject("idempotent_postgres", variant, LEASE_SECONDS="5")
    kills = [f"response:{number} service:postgres:KILL" for number in (3, 9, 15, 21)]
    evidence, found = crawled(tmp_path, who, *kills)
    assert [one.ended_by for one in evidence.course.incarnations] == ["itself"]
    assert requests(found)[0] <= sum(len(one.in_flight) for one in evidence.course.faults)


@pytest.mark.parametrize("store", STORES)
def test_whole_crawlers_side_by_side_share_the_work(store: str, tmp_path: Path) -> None:
    who = replace(subject(store, "processes2", LEASE_SECONDS="1"), instances=2)
    # Slow enough for the second copy to start before the first has crawled all of it, however slow the machine.
    slow = SiteNeeds(products=SHOP.products, list_pages=SHOP.list_pages, latency_ms=200)
    evidence, found = crawled(tmp_path, who, "request:3 KILL instance=1", shop=slow)
    assert requests(found)[0] <= 2
    assert requests(found)[1] == 1
    assert len(evidence.course.incarnations) == 3


def test_single_workers_may_start_on_one_new_file_at_a_time(tmp_path: Path) -> None:
    with real_site() as site:
        processes = [start("idempotent", tmp_path, site.url) for _ in range(6)]
        ended = [(process.communicate(timeout=60)[1], process.returncode) for process in processes]
        assert [code for _, code in ended] == [0] * 6, ended
        assert site.requests() == site.minimum


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_worker_that_hangs_does_not_keep_its_page(kind: str, held: threading.Event, tmp_path: Path) -> None:
    pages = {"/product/1": [Answer(product_html(1), hold=held), Answer(product_html(1))]}
    env = {"WORKERS": "2", "WORKER_KIND": kind, "LEASE_SECONDS": "0.3", "HELD_SECONDS": "0.5"}
    with scripted_shop({"/list/0": [Answer(list_html(1))], **pages}) as shop:
        with start("idempotent", tmp_path, shop.url, **env) as process:
            shop.wait_for("/product/1", 2)
            held.set()
            _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
        assert shop.seen["/product/1"] == 2
    assert told.splitlines()[-1] == "finished: 2 pages now, 2 known, 0 given up"


def test_a_page_that_kills_its_workers_is_given_up(held: threading.Event, tmp_path: Path) -> None:
    """As one does that needs more memory than there is: whoever fetches it is killed."""
    pages = {"/product/1": [Answer(product_html(1), hold=held)], "/product/2": [Answer(product_html(2))]}
    env = {"WORKERS": "2", "WORKER_KIND": "processes", "LEASE_SECONDS": "1"}
    with scripted_shop({"/list/0": [Answer(list_html(1, 2))], **pages}) as shop:
        with start("idempotent", tmp_path, shop.url, **env) as process:
            shop.wait_for("/product/1")
            with closing(sqlite3.connect(tmp_path / "crawl.db")) as db, db:
                db.execute("UPDATE frontier SET lost = 19 WHERE url LIKE '%/product/1'")
            for times in (1, 2):
                shop.wait_for("/product/1", times)
                _kill_workers(process.pid)
            _, told = process.communicate(timeout=60)
        assert shop.seen["/product/1"] == 2
    assert process.returncode == 0, told
    assert told.splitlines()[-2:] == [
        f"given up: {shop.url}/product/1: 21 leases of it ran out",
        "finished: 2 pages now, 3 known, 1 given up",
    ]


def _kill_workers(parent: int) -> None:
    for worker in psutil.Process(parent).children():
        with suppress(psutil.NoSuchProcess):
            worker.kill()
