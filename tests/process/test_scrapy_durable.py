"""Real Scrapy under crawlers/scrapy_durable/durable.py: what it asks for, what it asks for again, and what never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crawler_run import CRAWLERS, DEADLINE_S, Answer, ScriptedShop, scripted_shop, select

SPIDER = Path(__file__).parent / "wayward_spider.py"


@contextmanager
def crawling(store: Path, shop: ScriptedShop) -> Iterator[subprocess.Popen[str]]:
    """The wayward spider, running in `store`; killed at the end, unless it has ended."""
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "runspider", str(SPIDER), "-a", f"site_url={shop.url}"],
        cwd=store,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CRAWLERS / "scrapy_durable")},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def crawl(store: Path, shop: ScriptedShop) -> str:
    """Run it until it is done; its log."""
    with crawling(store, shop) as process:
        _, log = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, log
    assert "'finish_reason': 'finished'" in log
    return log


def asked_again(store: Path, shop: ScriptedShop) -> dict[str, int]:
    """What one more start asks for."""
    before = shop.seen.copy()
    crawl(store, shop)
    return dict(shop.seen - before)


def items(store: Path) -> list[str]:
    """The stored items, in alphabetical order."""
    return sorted((store / "items.txt").read_text().split())


def page(*paths: str, how: str = "", more: str = "") -> list[Answer]:
    """A page that links to `paths`."""
    return [Answer(more + "".join(f'<a href="{path}" class="{how}">x</a>' for path in paths))]


def item(text: str) -> list[Answer]:
    """A page with an item."""
    return [Answer(f"<i>{text}</i>")]


@contextmanager
def let_go() -> Iterator[Answer]:
    """An answer that comes at the end of the block, to nobody: who has asked is dead by then."""
    event = threading.Event()
    yield Answer(hold=event)
    event.set()


def test_a_killed_crawl_asks_again_for_what_was_in_flight_and_for_nothing_else(tmp_path: Path) -> None:
    with let_go() as held:
        script = {"/start": page("/a", "/b", more="<i>s</i>"), "/b": page("/c", more="<i>b</i>")}
        with scripted_shop({**script, "/a": [held, *item("a")], "/c": [held, *item("c")]}) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a")
                shop.wait_for("/c")
            states = select(tmp_path / "job" / "requests.db", "SELECT state FROM requests ORDER BY state")
            assert [row["state"] for row in states] == [1, 1, 2, 2]  # taken: /a and /c
            assert asked_again(tmp_path, shop) == {"/a": 1, "/c": 1}
            assert items(tmp_path) == ["a", "b", "c", "s"]
            assert asked_again(tmp_path, shop) == {}


def test_a_clean_stop_repeats_nothing(tmp_path: Path) -> None:
    waits = threading.Event()
    slow = Answer("<i>a</i><a href='/b'>x</a>", hold=waits)
    with scripted_shop({"/start": page("/a"), "/a": [slow], "/b": item("b")}) as shop:
        with crawling(tmp_path, shop) as process:
            shop.wait_for("/a")
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert any("Closing spider (shutdown)" in line for line in process.stderr)
            waits.set()
            process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        assert shop.seen == {"/start": 1, "/a": 1}
        assert asked_again(tmp_path, shop) == {"/b": 1}
    assert items(tmp_path) == ["a", "b"]


def test_a_retry_settles_its_request_and_survives_a_kill(tmp_path: Path) -> None:
    with let_go() as held:
        down = Answer(status=503)
        with scripted_shop({"/start": [down, *page("/a")], "/a": [down, held, down, *item("a")]}) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a", 2)
            assert asked_again(tmp_path, shop) == {"/a": 2}  # the number of tries is remembered: this was the last
            assert items(tmp_path) == ["a"]
            assert asked_again(tmp_path, shop) == {}
            assert shop.seen["/start"] == 2


@pytest.mark.parametrize("bad", [Answer(status=503), Answer("<i>half</i>", cut=3)], ids=["503", "cut short"])
def test_a_page_that_fails_for_good_does_not_keep_the_run_and_is_tried_by_the_next(bad: Answer, tmp_path: Path) -> None:
    script = {"/start": page("/a", "/b"), "/a": [bad] * 4 + item("a"), "/b": item("b")}
    with scripted_shop(script) as shop:
        crawl(tmp_path, shop)
        assert shop.seen == {"/start": 1, "/a": 3, "/b": 1}
        assert asked_again(tmp_path, shop) == {"/a": 1}
        assert items(tmp_path) == ["b"]
        assert asked_again(tmp_path, shop) == {"/a": 1}
        assert items(tmp_path) == ["a", "b"]
        assert asked_again(tmp_path, shop) == {}


def test_what_an_errback_asks_for_instead_stands_for_the_failed_request(tmp_path: Path) -> None:
    with let_go() as held:
        script = {"/start": page("/a", how="mirror"), "/a": [Answer("half", cut=2)], "/a/mirror": [held, *item("a")]}
        with scripted_shop(script) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a/mirror")
            assert asked_again(tmp_path, shop) == {"/a/mirror": 1}
            assert items(tmp_path) == ["a", "failed"]
            assert asked_again(tmp_path, shop) == {}


def test_a_page_that_is_not_there_is_done(tmp_path: Path) -> None:
    with scripted_shop({"/start": page("/gone")}) as shop:
        crawl(tmp_path, shop)
        assert shop.seen == {"/start": 1, "/gone": 1}
        assert asked_again(tmp_path, shop) == {}


def moved(path: str) -> list[Answer]:
    """A redirect to `path`."""
    return [Answer(status=302, headers={"Location": path})]


def test_a_redirect_settles_its_request_and_its_target_is_asked_for_once(tmp_path: Path) -> None:
    with let_go() as held:
        script = {"/start": moved("/list"), "/list": page("/old", "/older"), "/old": moved("/a"), "/older": moved("/a")}
        with scripted_shop({**script, "/a": [held, *item("a")]}) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a")
                shop.wait_for("/old")
                shop.wait_for("/older")
            assert asked_again(tmp_path, shop)["/a"] == 1
            assert (shop.seen["/start"], shop.seen["/list"]) == (1, 1)
            assert items(tmp_path) == ["a"]
            assert asked_again(tmp_path, shop) == {}


def test_a_request_with_dont_filter_is_sent_each_time_it_is_asked_for(tmp_path: Path) -> None:
    with let_go() as held:
        script = {"/start": page("/again", "/again", "/list", how="again"), "/list": page("/start", "/a")}
        with scripted_shop({**script, "/again": item("x"), "/a": [held, *item("a")]}) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a")
                shop.wait_for("/again", 2)
            asked = asked_again(tmp_path, shop)
            assert asked.pop("/a") == 1
            assert set(asked) <= {"/again"}  # it may have been in flight; no page is
            assert asked_again(tmp_path, shop) == {}
            assert shop.seen["/start"] == 1  # a start request is known, even when a page links to it


@pytest.mark.parametrize("how", ["copy", "copy again"])
def test_a_request_with_the_meta_of_its_page_is_one_of_its_own(how: str, tmp_path: Path) -> None:
    with let_go() as held:
        script = {"/start": page("/a", "/b", how=how), "/b": page("/c", how=how)}
        with scripted_shop({**script, "/a": [held, *item("a")], "/c": [held, *item("c")]}) as shop:
            with crawling(tmp_path, shop):
                shop.wait_for("/a")
                shop.wait_for("/c")
            assert asked_again(tmp_path, shop) == {"/a": 1, "/c": 1}
            assert items(tmp_path) == ["a", "c"]
            assert asked_again(tmp_path, shop) == {}


@pytest.mark.parametrize("bad", ["<b>", "<i>bad</i>"], ids=["callback", "pipeline"])
def test_a_page_whose_callback_or_pipeline_raised_is_tried_by_the_next_start(bad: str, tmp_path: Path) -> None:
    pages = page("/a", how="copy", more="<i>p</i>" + bad) + page("/a", "/b", more="<i>q</i>")
    with scripted_shop({"/start": page("/p"), "/p": pages, "/a": item("a")}) as shop:
        log = crawl(tmp_path, shop)
        assert ("ValueError: boom" if bad == "<b>" else "OSError: the store is full") in log
        assert shop.seen == {"/start": 1, "/p": 1, "/a": 1}  # what it had asked for is followed
        assert asked_again(tmp_path, shop) == {"/p": 1, "/b": 1}
        assert items(tmp_path) == ["a", "p", "q"]
        assert asked_again(tmp_path, shop) == {}


def test_a_dropped_item_and_an_offsite_link_hold_up_nothing(tmp_path: Path) -> None:
    offsite = "http://offsite.invalid/"
    with scripted_shop({"/start": page(offsite, "/a", more="<i>dropped</i>"), "/a": item("a")}) as shop:
        crawl(tmp_path, shop)
        assert items(tmp_path) == ["a"]
        assert asked_again(tmp_path, shop) == {}


def test_a_request_that_cannot_be_pickled_is_an_error_of_its_page(tmp_path: Path) -> None:
    with scripted_shop({"/start": page("/p", "/q"), "/p": page("/a", how="lambda"), "/q": page("/a")}) as shop:
        log = crawl(tmp_path, shop)
        assert f"Spider error processing <GET {shop.url}/p>" in log
        assert "is not an instance method in: <WaywardSpider" in log
        assert shop.seen == {"/start": 1, "/p": 1, "/q": 1, "/a": 1}
        assert asked_again(tmp_path, shop) == {"/p": 1}  # still pending


def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with let_go() as held, scripted_shop({"/start": [held]}) as shop, crawling(tmp_path, shop):
        shop.wait_for("/start")
        with crawling(tmp_path, shop) as second:
            _, log = second.communicate(timeout=DEADLINE_S)
        assert "sqlite3.OperationalError: database is locked" in log
        assert second.returncode == 1
        assert shop.seen == {"/start": 1}
