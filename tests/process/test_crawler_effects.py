"""What `idempotent` does beyond its rows: killed in the middle, and with a shop that misbehaves."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from crawler_run import (
    Answer,
    ScriptedShop,
    list_html,
    product_html,
    real_site,
    run,
    scripted_shop,
    select,
    start,
)

QUICK = {"RETRY_SECONDS": "0.01", "LEASE_SECONDS": "0.3"}
ALL_EFFECTS = "images,webhooks,counters,captures"
BMP = {"Content-Type": "image/bmp"}
TAKEN = Answer("{}", status=202)
QUOTE = '"'


def picture(number: int) -> bytes:
    """A picture of some thousand bytes, another one for each product."""
    return b"BM" + str(number).encode() * 5000


def with_picture(number: int) -> str:
    return product_html(number) + f'<img class="image" src="/image/{number}">'


def shop_script(**instead: list[Answer]) -> dict[str, list[Answer]]:
    """A list page, products 1 to 3 with pictures, and a webhook; `image2=[…]`, `hook=[…]`, `p2=[…]` replace answers."""
    script = {"/list/0": [Answer(list_html(1, 2, 3))], "/hook": instead.get("hook", [TAKEN])}
    for n in (1, 2, 3):
        script[f"/product/{n}"] = instead.get(f"p{n}", [Answer(with_picture(n))])
        script[f"/image/{n}"] = instead.get(f"image{n}", [Answer(picture(n), headers=BMP)])
    return script


def files(store: Path) -> dict[str, bytes]:
    """Everything in the folder of pictures, by name."""
    return {path.name: path.read_bytes() for path in (store / "images").iterdir()}


def named(*numbers: int) -> dict[str, bytes]:
    """The files that there should be of these products."""
    return {f"{hashlib.sha256(picture(n)).hexdigest()}.bmp": picture(n) for n in numbers}


def captures(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / "captures.jsonl").read_text("utf-8").splitlines()]


def announced(shop: ScriptedShop) -> list[tuple[str, int]]:
    return [(one.body["sku"], one.body["version"]) for one in shop.delivered]


def skus(store: Path) -> list[str]:
    return [row["natural_key"] for row in select(store / "crawl.db", "SELECT natural_key FROM records ORDER BY 1")]


def visit_again(store: Path) -> None:
    """Make every entry pending again, as the README says."""
    db = sqlite3.connect(store / "crawl.db")
    with db:
        db.execute("UPDATE frontier SET state = 'pending', due_at = 0")
    db.close()


def kill_when(store: Path, shop: ScriptedShop, path: str, times: int = 1, **settings: str) -> None:
    """Start the crawler and kill it once so many requests for `path` have come."""
    with start("idempotent", store, shop.url, **QUICK, **settings) as process:
        shop.wait_for(path, times)
        process.kill()


@pytest.mark.parametrize("workers", [{}, {"WORKERS": "3", "WORKER_KIND": "threads"}, {"WORKERS": "2"}])
def test_all_effects_of_an_undisturbed_crawl(workers: dict[str, str], tmp_path: Path) -> None:
    with real_site() as site:
        ended = run("idempotent", tmp_path, site.url, EFFECTS=ALL_EFFECTS, **workers)
        assert ended.returncode == 0, ended.stderr
        stats, truth = site.ask("stats"), site.ask("truth")["rows"]
    assert (stats["requests"], stats["other"]) == (33, 60)
    pictures = {row["versions"][0]["image_sha256"] for row in truth}
    assert {hashlib.sha256(content).hexdigest() for content in files(tmp_path).values()} == pictures
    assert {Path(name).stem for name in files(tmp_path)} == pictures
    assert len({line["url"] for line in captures(tmp_path)}) == len(captures(tmp_path)) == 33
    counters = {row["name"]: row["value"] for row in select(tmp_path / "crawl.db", "SELECT * FROM counters")}
    assert counters.pop("rows") == 30
    assert sum(counters.values()) == 30
    assert select(tmp_path / "crawl.db", "SELECT * FROM outbox WHERE sent_at IS NULL") == []


def test_without_effects_nothing_but_the_database_is_there(tmp_path: Path) -> None:
    with scripted_shop(shop_script()) as shop:
        assert run("idempotent", tmp_path, shop.url).returncode == 0
        assert shop.seen.total() == 4
    assert [path.name for path in tmp_path.iterdir()] == ["crawl.db"]


@pytest.mark.parametrize("hold_at", [None, 4000])
def test_a_kill_while_a_picture_comes_leaves_no_half_a_picture(
    hold_at: int | None, hold: threading.Event, tmp_path: Path
) -> None:
    slow = Answer(picture(2), headers=BMP, hold=hold, hold_at=hold_at)
    with scripted_shop(shop_script(image2=[slow, Answer(picture(2), headers=BMP)])) as shop:
        kill_when(tmp_path, shop, "/image/2", EFFECTS="images")
        assert files(tmp_path) == named(1)
        hold.set()
        ended = run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="images")
        assert ended.stderr == "finished: 2 pages now, 7 known, 0 given up\n"
        assert shop.seen["/image/2"] == 2
        assert shop.seen.total() == 8
    assert files(tmp_path) == named(1, 2, 3)


def test_a_picture_that_comes_badly_is_stored_in_the_end_and_its_page_is_not_asked_for_again(tmp_path: Path) -> None:
    cut, good = Answer(picture(2), headers=BMP, cut=4000), Answer(picture(2), headers=BMP)
    with scripted_shop(shop_script(image2=[cut, Answer(status=500), Answer("", headers=BMP), good])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="images")
        assert ended.stderr.splitlines()[-1] == "finished: 7 pages now, 7 known, 0 given up"
        assert (shop.seen["/image/2"], shop.seen["/product/2"]) == (4, 1)
    assert files(tmp_path) == named(1, 2, 3)


@pytest.mark.parametrize(
    ("bad", "reason", "requests"),
    [
        (Answer(picture(2), headers=BMP, cut=4000), "ChunkedEncodingError", 5),
        (Answer(picture(2), headers=BMP, status=500), "HTTP 500", 5),
        (Answer("<p>Sorry"), "no picture: 8 bytes of text/html", 5),
        (Answer(status=404), "HTTP 404", 1),
    ],
    ids=["truncated", "500", "an error page", "404"],
)
def test_a_picture_that_stays_bad_is_given_up_and_its_product_is_kept(
    bad: Answer, reason: str, requests: int, tmp_path: Path
) -> None:
    with scripted_shop(shop_script(image2=[bad])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="images")
        assert ended.returncode == 0
        *_, given_up, last = ended.stderr.splitlines()
        assert given_up.startswith(f"given up: {shop.url}/image/2: {reason}")
        assert last == "finished: 6 pages now, 7 known, 1 given up"
        assert shop.seen["/image/2"] == requests
    assert files(tmp_path) == named(1, 3)
    assert len(skus(tmp_path)) == 3


def test_the_same_picture_of_two_products_is_one_file(tmp_path: Path) -> None:
    with scripted_shop(shop_script(image2=[Answer(picture(1), headers=BMP)])) as shop:
        run("idempotent", tmp_path, shop.url, EFFECTS="images")
        rows = select(tmp_path / "crawl.db", "SELECT url, file FROM pictures ORDER BY url")
    assert files(tmp_path) == named(1, 3)
    assert rows[0]["file"] == rows[1]["file"] != rows[2]["file"]


def test_a_picture_that_changed_is_a_new_file_and_the_present_one(tmp_path: Path) -> None:
    changed = [Answer(picture(2), headers=BMP), Answer(picture(8), headers=BMP)]
    with scripted_shop(shop_script(image2=changed)) as shop:
        run("idempotent", tmp_path, shop.url, EFFECTS="images")
        visit_again(tmp_path)
        run("idempotent", tmp_path, shop.url, EFFECTS="images")
        (row,) = select(tmp_path / "crawl.db", "SELECT file FROM pictures WHERE url LIKE '%/image/2'")
    assert files(tmp_path) == named(1, 2, 3, 8)
    assert row["file"] in named(8)


def test_a_kill_behind_a_delivery_sends_it_again_under_the_same_key(hold: threading.Event, tmp_path: Path) -> None:
    with scripted_shop(shop_script(hook=[TAKEN, Answer("{}", status=202, hold=hold), TAKEN])) as shop:
        kill_when(tmp_path, shop, "/hook", 2, EFFECTS="webhooks")
        hold.set()
        assert run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="webhooks").returncode == 0
        assert shop.delivered.count(shop.delivered[1]) == 2
        assert len({one.key for one in shop.delivered}) == len(shop.delivered) - 1 == 3
        assert sorted(set(announced(shop))) == [(sku, 1) for sku in skus(tmp_path)]
        assert shop.seen.total() == 4 + 4


@pytest.mark.parametrize(
    "bad",
    [
        Answer(status=503),
        Answer(status=429, headers={"Retry-After": "0"}),
        Answer("{}", status=202, cut=1),
        Answer(status=409),
        Answer(status=302, headers={"Location": "/list/0"}),
    ],
    ids=["503", "429", "cut short", "409", "a redirect"],
)
def test_a_message_that_is_not_taken_twice_is_sent_again_under_the_same_key(bad: Answer, tmp_path: Path) -> None:
    with scripted_shop(shop_script(hook=[bad, bad, TAKEN])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="webhooks")
        assert ended.stderr.splitlines()[-1] == "finished: 7 pages now, 7 known, 0 given up"
        assert len(shop.delivered) == 5
        assert len({one.key for one in shop.delivered}) == 3
        assert shop.seen.total() == 4 + 5


def test_the_receiver_decides_how_long_to_wait(tmp_path: Path) -> None:
    later = Answer(status=429, headers={"Retry-After": "3600"})
    with (
        scripted_shop(shop_script(hook=[later, TAKEN])) as shop,
        start("idempotent", tmp_path, shop.url, EFFECTS="webhooks", MAX_DELAY_SECONDS="900") as process,
    ):
        shop.wait_for("/product/3")  # the pages are not kept waiting
        process.kill()
    (row,) = select(
        tmp_path / "crawl.db",
        "SELECT due_at - (SELECT min(first_seen) FROM records) AS s FROM frontier WHERE attempts > 0",
    )
    assert row["s"] == pytest.approx(900, abs=30)


@pytest.mark.parametrize(("status", "requests"), [(422, 1), (400, 1), (503, 5)])
def test_a_message_that_nobody_takes_is_given_up_and_its_record_is_kept(
    status: int, requests: int, tmp_path: Path
) -> None:
    with scripted_shop(shop_script(hook=[Answer(status=status)])) as shop:
        ended = run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="webhooks")
    assert ended.returncode == 0
    *lines, last = ended.stderr.splitlines()
    assert last == "finished: 4 pages now, 7 known, 3 given up"
    for one in shop.delivered:
        start_of_line = f"given up: {shop.url}/hook#{one.key.strip(QUOTE)}: HTTP {status}"
        assert [line for line in lines[-3:] if line.startswith(start_of_line)]
    assert len(shop.delivered) == 3 * requests
    assert len(skus(tmp_path)) == 3


def test_a_sent_message_is_sent_once_however_often_its_page_is_visited(tmp_path: Path) -> None:
    with scripted_shop(shop_script()) as shop:
        for _ in range(3):
            run("idempotent", tmp_path, shop.url, EFFECTS="webhooks")
            visit_again(tmp_path)
        assert sorted(announced(shop)) == [(sku, 1) for sku in skus(tmp_path)]
        assert shop.seen["/product/2"] == 3


def test_each_version_is_announced_also_one_that_was_there_before(tmp_path: Path) -> None:
    a, b = Answer(product_html(2)), Answer(product_html(2).replace("9.99", "12.50"))
    with scripted_shop(shop_script(p2=[a, b, a])) as shop:
        for _ in range(3):
            run("idempotent", tmp_path, shop.url, EFFECTS="webhooks")
            visit_again(tmp_path)
        told = [(one.body["version"], one.body["price"]) for one in shop.delivered if one.body["sku"] == "SKU-00002"]
        assert told == [(1, "9.99"), (2, "12.50"), (3, "9.99")]
        assert len({one.key for one in shop.delivered}) == len(shop.delivered) == 5


def test_a_crawl_that_lost_its_database_announces_the_same_under_the_same_keys(tmp_path: Path) -> None:
    with scripted_shop(shop_script()) as shop:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            run("idempotent", tmp_path / name, shop.url, EFFECTS="webhooks")
        assert shop.delivered[:3] == shop.delivered[3:]


def test_a_product_of_two_pages_is_announced_when_both_are_there(tmp_path: Path) -> None:
    with real_site("--shape", "two_page") as site:
        run("idempotent", tmp_path, site.url, EFFECTS="webhooks,counters")
        assert site.ask("stats")["other"] == 30
    bodies = select(tmp_path / "crawl.db", "SELECT body FROM outbox WHERE sent_at IS NOT NULL")
    assert len(bodies) == 30
    assert all({"title", "price", "sku"} <= json.loads(row["body"]).keys() for row in bodies)


def test_counters_follow_the_rows(tmp_path: Path) -> None:
    a, b = Answer(product_html(2)), Answer(product_html(2).replace("in stock", "sold out"))
    with scripted_shop(shop_script(p2=[a, b])) as shop:
        run("idempotent", tmp_path, shop.url, EFFECTS="counters")
        before = select(tmp_path / "crawl.db", "SELECT * FROM counters")
        visit_again(tmp_path)
        run("idempotent", tmp_path, shop.url, EFFECTS="counters")
        after = select(tmp_path / "crawl.db", "SELECT * FROM counters")
    assert {row["name"]: row["value"] for row in before} == {"rows": 3, "availability=in stock": 3}
    assert {row["name"]: row["value"] for row in after} == {
        "rows": 3,
        "availability=in stock": 2,
        "availability=sold out": 1,
    }


def test_a_page_is_kept_as_it_came_also_one_that_does_not_parse(tmp_path: Path) -> None:
    odd = Answer("<p>Größe &amp; Gewicht\r\n")
    with scripted_shop(shop_script(p2=[odd, Answer(product_html(2))])) as shop:
        run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="captures")
        kept = [(line["url"].removeprefix(shop.url), line["body"]) for line in captures(tmp_path)]
    assert ("/product/2", odd.body) in kept
    assert ("/product/2", product_html(2)) in kept
    assert len(kept) == 5


@pytest.mark.parametrize(
    "tail", [b'{"url": "http', b"\0" * 300, b'{"url": "\0\0\0\0"}\n', b"{" + b"x" * 200_000], ids=str
)
def test_what_a_kill_or_a_power_cut_left_of_a_capture_is_cut_off(tail: bytes, tmp_path: Path) -> None:
    with scripted_shop(shop_script()) as shop:
        run("idempotent", tmp_path, shop.url, EFFECTS="captures")
        before = (tmp_path / "captures.jsonl").read_bytes()
        (tmp_path / "captures.jsonl").write_bytes(before + tail)
        run("idempotent", tmp_path, shop.url, EFFECTS="captures")
    assert (tmp_path / "captures.jsonl").read_bytes() == before


def test_a_file_of_torn_captures_alone_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "captures.jsonl").write_bytes(b'{"url": "ht')
    with scripted_shop(shop_script()) as shop:
        run("idempotent", tmp_path, shop.url, EFFECTS="captures")
    assert len(captures(tmp_path)) == 4


def test_a_file_that_cannot_be_written_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("in the way")
    ended = run("idempotent", tmp_path, "http://127.0.0.1:9", EFFECTS="images")
    assert ended.returncode == os.EX_IOERR
    assert ended.stderr == f"cannot go on: {tmp_path / 'images'}: File exists (EEXIST)\n"


@pytest.mark.parametrize("workers", [{}, {"WORKERS": "2", "WORKER_KIND": "threads"}])
def test_a_picture_that_cannot_be_written_stops_it_and_a_restart_goes_on(
    workers: dict[str, str], hold: threading.Event, tmp_path: Path
) -> None:
    slow = Answer(picture(2), headers=BMP, hold=hold)
    with scripted_shop(shop_script(image2=[slow, Answer(picture(2), headers=BMP)])) as shop:
        with start("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="images", **workers) as process:
            shop.wait_for("/image/2")
            shop.wait_for("/image/1")
            (tmp_path / "images").rename(tmp_path / "elsewhere")
            (tmp_path / "images").write_text("in the way")
            hold.set()
            _, errors = process.communicate(timeout=60)
        assert process.returncode == os.EX_IOERR
        assert "cannot go on: " in errors.splitlines()[-1]
        assert errors.splitlines()[-1].endswith("Not a directory (ENOTDIR)")
        (tmp_path / "images").unlink()
        (tmp_path / "elsewhere").rename(tmp_path / "images")
        assert run("idempotent", tmp_path, shop.url, **QUICK, EFFECTS="images").returncode == 0
    assert files(tmp_path) == named(1, 2, 3)


def test_an_effect_that_there_is_not_is_refused(tmp_path: Path) -> None:
    ended = run("idempotent", tmp_path, "http://127.0.0.1:9", EFFECTS="images,picturs")
    assert ended.returncode == os.EX_USAGE
    assert ended.stderr == "EFFECTS: no effect picturs; there are: images, webhooks, counters, captures\n"


@pytest.mark.parametrize("name", ["WORKERS", "LEASE_SECONDS"])
def test_a_setting_that_is_no_number_is_named(name: str, tmp_path: Path) -> None:
    ended = run("idempotent", tmp_path, "http://127.0.0.1:9", **{name: "four"})
    assert (ended.returncode, ended.stderr) == (os.EX_USAGE, f"{name} is 'four': wants a number\n")
