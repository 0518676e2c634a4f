"""The reference crawlers as real processes: what they store, and how `idempotent` takes what goes wrong."""

from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from crawler_run import (
    Answer,
    command,
    environment,
    list_html,
    product_html,
    real_site,
    run,
    scripted_shop,
    select,
    start,
    stored,
)

ALL = ["append_jsonl", "idempotent", "naive", "scrapy_durable", "scrapy_jobdir"]
QUICK = {"RETRY_SECONDS": "0.01", "LEASE_SECONDS": "0.3"}
JUDGED = ("sku", "title", "price", "currency", "availability")


def judged(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows reduced to the truth's fields, by sku."""
    return sorted(({name: row[name] for name in JUDGED} for row in rows), key=lambda row: row["sku"])


def frontier_rows(store: Path) -> list[dict[str, Any]]:
    return select(store / "crawl.db", "SELECT * FROM frontier ORDER BY seq")


def record_rows(store: Path) -> list[dict[str, Any]]:
    return select(store / "crawl.db", "SELECT * FROM records ORDER BY id")


def small_shop(**instead: list[Answer]) -> dict[str, list[Answer]]:
    """A list page and products 1 to 3; `p2=[…]` replaces the answers for product 2."""
    pages = {f"/product/{n}": instead.get(f"p{n}", [Answer(product_html(n))]) for n in (1, 2, 3)}
    return {"/list/0": [Answer(list_html(1, 2, 3))], **pages}


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("name", ALL)
def test_it_stores_every_product_as_the_shop_shows_it(name: str, place: str, tmp_path: Path) -> None:
    with real_site("--next", place) as site:
        ended = run(name, tmp_path, site.url)
        assert ended.returncode == 0, ended.stderr
        assert judged(stored(name, tmp_path)) == judged(site.truth())
        assert site.requests() == site.minimum == 33


@pytest.mark.parametrize("shape", ["star", "chain", "two_page"])
def test_idempotent_crawls_every_shape_of_shop(shape: str, tmp_path: Path) -> None:
    with real_site("--shape", shape) as site:
        ended = run("idempotent", tmp_path, site.url)
        assert ended.returncode == 0, ended.stderr
        assert judged(stored("idempotent", tmp_path)) == judged(site.truth())
        assert site.requests() == site.minimum


@pytest.mark.parametrize("name", ["naive", "append_jsonl"])
def test_a_second_start_of_a_bad_example_stores_everything_again(name: str, tmp_path: Path) -> None:
    with real_site() as site:
        once, twice = run(name, tmp_path, site.url), run(name, tmp_path, site.url)
        assert (once.returncode, twice.returncode) == (0, 0)
        assert judged(stored(name, tmp_path)) == judged(site.truth() * 2)


def test_a_second_start_of_idempotent_changes_nothing_and_asks_for_nothing(tmp_path: Path) -> None:
    with real_site() as site:
        run("idempotent", tmp_path, site.url)
        before = (frontier_rows(tmp_path), record_rows(tmp_path), site.requests())
        again = run("idempotent", tmp_path, site.url)
        assert again.stderr == "finished: 0 pages now, 33 known, 0 given up\n"
        assert (frontier_rows(tmp_path), record_rows(tmp_path), site.requests()) == before


def test_a_second_start_of_scrapy_durable_asks_for_nothing(tmp_path: Path) -> None:
    with real_site() as site:
        codes = [run("scrapy_durable", tmp_path, site.url).returncode for _ in range(2)]
        assert codes == [0, 0]
        assert judged(stored("scrapy_durable", tmp_path)) == judged(site.truth())
        assert site.requests() == site.minimum


def test_a_killed_crawl_repeats_the_page_in_flight_and_no_other(tmp_path: Path) -> None:
    held = threading.Event()
    page = [Answer(product_html(2), hold=held), Answer(product_html(2))]
    with scripted_shop(small_shop(p2=page)) as shop:
        with start("idempotent", tmp_path, shop.url, **QUICK) as process:
            shop.wait_for("/product/2")
            process.kill()
        held.set()
        ended = run("idempotent", tmp_path, shop.url, **QUICK)
        assert ended.stderr.splitlines()[-1] == "finished: 2 pages now, 4 known, 0 given up"
        assert shop.seen == {"/list/0": 1, "/product/1": 1, "/product/2": 2, "/product/3": 1}
    assert [row["sku"] for row in judged(stored("idempotent", tmp_path))] == [
        "SKU-00001",
        "SKU-00002",
        "SKU-00003",
    ]


def test_a_fetch_slower_than_the_lease_costs_a_request_and_nothing_else(tmp_path: Path) -> None:
    held = threading.Event()
    page = [Answer(product_html(2), hold=held), Answer(product_html(2))]
    with scripted_shop(small_shop(p2=page)) as shop:
        with start("idempotent", tmp_path, shop.url, **QUICK) as slow:
            shop.wait_for("/product/2")
            other = run("idempotent", tmp_path, shop.url, **QUICK)
            before = (frontier_rows(tmp_path), record_rows(tmp_path))
            held.set()
            _, errors = slow.communicate()
        assert (other.returncode, slow.returncode) == (0, 0)
        assert errors.startswith(f"not stored: {shop.url}/product/2: lease 1 is no longer the latest\n")
        assert shop.seen["/product/2"] == 2
    assert (frontier_rows(tmp_path), record_rows(tmp_path)) == before
    assert len(before[1]) == 3


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_one_line(signum: signal.Signals, tmp_path: Path) -> None:
    held = threading.Event()
    with scripted_shop(small_shop(p2=[Answer(hold=held)])) as shop:
        with start("idempotent", tmp_path, shop.url) as process:
            shop.wait_for("/product/2")
            process.send_signal(signum)
            _, errors = process.communicate()
        held.set()
    assert process.returncode == -signum
    assert errors == f"stopped by {signum.name}; start it again to go on\n"


@pytest.mark.parametrize(
    "bad",
    [
        Answer(status=503),
        Answer(status=429, headers={"Retry-After": "0"}),
        Answer(product_html(2), cut=20),
        Answer(product_html(2).replace("price", "prize")),
    ],
    ids=["503", "429", "cut short", "a field missing"],
)
def test_a_page_that_goes_wrong_twice_is_stored_in_the_end(bad: Answer, tmp_path: Path) -> None:
    with scripted_shop(small_shop(p2=[bad, bad, Answer(product_html(2))])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK)
        assert ended.returncode == 0
        assert ended.stderr.splitlines()[-1] == "finished: 4 pages now, 4 known, 0 given up"
        assert shop.seen["/product/2"] == 3
    assert len(stored("idempotent", tmp_path)) == 3


def test_the_server_decides_how_long_to_wait(tmp_path: Path) -> None:
    asks = Answer(status=429, headers={"Retry-After": "3600"})
    with (
        scripted_shop(small_shop(p2=[asks])) as shop,
        start("idempotent", tmp_path, shop.url, MAX_DELAY_SECONDS="900") as process,
    ):
        assert process.stderr is not None
        assert process.stderr.readline() == f"to be retried: {shop.url}/product/2: HTTP 429\n"
        shop.wait_for("/product/3")  # the others are not kept waiting
        process.kill()
        assert shop.seen["/product/2"] == 1
    (row,) = select(tmp_path / "crawl.db", "SELECT due_at, lease_no FROM frontier WHERE attempts > 0")
    (mine,) = select(tmp_path / "crawl.db", "SELECT max(first_seen) AS now_s FROM records")
    assert row["lease_no"] == 1
    assert row["due_at"] - mine["now_s"] == pytest.approx(900, abs=30)


@pytest.mark.parametrize(
    ("bad", "reason", "requests"),
    [
        (Answer("<p>Nothing to see"), "does not parse: no availability, currency, price, sku, title", 5),
        (Answer(status=500), "HTTP 500", 5),
        (Answer(status=404), "HTTP 404", 1),
        (Answer(status=410), "HTTP 410", 1),
    ],
    ids=["does not parse", "500", "404", "410"],
)
def test_a_page_that_stays_bad_is_given_up_with_the_reason(
    bad: Answer, reason: str, requests: int, tmp_path: Path
) -> None:
    with scripted_shop(small_shop(p2=[bad])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK)
        assert ended.returncode == 0
        *_, given_up, last = ended.stderr.splitlines()
        assert given_up.startswith(f"given up: {shop.url}/product/2: {reason}")
        assert last == "finished: 3 pages now, 4 known, 1 given up"
        assert shop.seen["/product/2"] == requests
        failed = [row for row in frontier_rows(tmp_path) if row["state"] == "failed"]
        assert [row["url"] for row in failed] == [f"{shop.url}/product/2"]
        assert failed[0]["reason"].startswith(reason)
        run("idempotent", tmp_path, shop.url, **QUICK)
        assert shop.seen["/product/2"] == requests
    assert len(stored("idempotent", tmp_path)) == 2


def test_a_list_page_without_products_is_not_taken_for_the_last(tmp_path: Path) -> None:
    with scripted_shop({"/list/0": [Answer(list_html())] * 2 + [Answer(list_html(1))], **one_product()}) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK)
        assert "/list/0: does not parse: a list page without products" in ended.stderr
    assert len(stored("idempotent", tmp_path)) == 1


def one_product() -> dict[str, list[Answer]]:
    return {"/product/1": [Answer(product_html(1))]}


def test_a_changed_product_keeps_first_seen_and_gets_a_new_last_changed(tmp_path: Path) -> None:
    changed = Answer(product_html(2).replace("9.99", "12.50"))
    with scripted_shop(small_shop(p2=[Answer(product_html(2)), changed])) as shop:
        run("idempotent", tmp_path, shop.url)
        before = {row["natural_key"]: row for row in record_rows(tmp_path)}
        visit_again(tmp_path)
        run("idempotent", tmp_path, shop.url)
        after = {row["natural_key"]: row for row in record_rows(tmp_path)}
    assert {key for key in after if after[key] != before[key]} == {"SKU-00002"}
    old, new = before["SKU-00002"], after["SKU-00002"]
    assert (new["id"], new["first_seen"]) == (old["id"], old["first_seen"])
    assert new["last_changed"] > old["last_changed"]


def visit_again(store: Path) -> None:
    """Make every page pending again, as a later crawl for news would."""
    db = sqlite3.connect(store / "crawl.db")
    with db:
        db.execute("UPDATE frontier SET state = 'pending', due_at = 0")
    db.close()


def test_a_full_disk_is_named_in_one_line_and_a_restart_goes_on(tmp_path: Path) -> None:
    with real_site() as site:
        first, then = on_small_disk(tmp_path, site.url)
        assert first["code"] == os.EX_IOERR == 74
        assert first["errors"] == [
            f"cannot go on: {tmp_path / 'disk' / 'crawl.db'}: database or disk is full (SQLITE_FULL)"
        ]
        assert then["code"] == 0, then["errors"]
        assert judged(stored("idempotent", tmp_path)) == judged(site.truth())
        assert 0 <= site.requests() - site.minimum <= 1


def on_small_disk(folder: Path, site_url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run `idempotent` on a disk of 300 kB and again once it has grown; its database ends up in `folder`.

    The disk is a tmpfs in a mount namespace of its own: it is gone with the shell, whatever happens.
    """
    disk = folder / "disk"
    disk.mkdir()
    crawl = shlex.join(command("idempotent", site_url))
    script = f"""
        mount -t tmpfs -o size=300k none {shlex.quote(str(disk))} || exit 99
        cd {shlex.quote(str(disk))}
        {crawl} 2> ../errors.0; echo $?
        mount -o remount,size=20m {shlex.quote(str(disk))} || exit 99
        {crawl} 2> ../errors.1; echo $?
        cp crawl.db* ..
    """
    privilege = [] if os.geteuid() == 0 else ["--map-root-user"]
    ran = subprocess.run(
        ["unshare", "--mount", *privilege, "sh", "-c", script],
        env=environment("idempotent", disk, site_url, {}),
        capture_output=True,
        check=False,  # the codes that matter are on its standard output
        text=True,
        timeout=60,
    )
    if ran.returncode == 99 or "unshare failed" in ran.stderr:
        pytest.skip(f"this machine allows no tmpfs in a mount namespace: {ran.stderr.strip()}")
    codes = [int(line) for line in ran.stdout.split()]
    errors = [(folder / f"errors.{number}").read_text().splitlines() for number in (0, 1)]
    first, then = ({"code": code, "errors": lines} for code, lines in zip(codes, errors, strict=True))
    return first, then


def test_a_database_that_cannot_be_opened_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "crawl.db").mkdir()
    ended = run("idempotent", tmp_path, "http://127.0.0.1:9")
    assert ended.returncode == os.EX_IOERR
    path = tmp_path / "crawl.db"
    assert ended.stderr == f"cannot go on: {path}: unable to open database file (SQLITE_CANTOPEN)\n"


def test_several_processes_share_a_crawl_without_repeating_a_page(tmp_path: Path) -> None:
    with real_site() as site:
        processes = [start("idempotent", tmp_path, site.url) for _ in range(3)]
        codes = [process.wait(60) for process in processes]
        for process in processes:
            process.communicate()
        assert codes == [0, 0, 0]
        assert judged(stored("idempotent", tmp_path)) == judged(site.truth())
        assert site.requests() == site.minimum
