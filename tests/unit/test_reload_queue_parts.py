"""The pure parts of the crawler reload_queue: pages, addresses, patience, fingerprints and options."""

from __future__ import annotations

import itertools
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from crawling import crawl_options, database_address, download, fingerprints, marks, patience
from crawling.page import Follow, Page, Row
from crawling.page_address import is_page
from crawling.respawn import Respawns
from spiders import shop
from urllib3.exceptions import NewConnectionError

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
SKU = '<span class="sku">S-7</span>'
OFFER = '<span class="price">9.99</span><span class="currency">EUR</span><span class="availability">in stock</span>'


def parsed(path: str, html: str, **meta: str) -> list[Row | Follow]:
    return list(shop.parse(Page(f"http://shop{path}", html.encode(), meta)))


def test_a_list_leads_to_its_products_and_the_next_list() -> None:
    html = '<a href="/product/1">x</a><a href="/about">x</a><a class="next" href="/list/1">x</a>'
    assert parsed("/list/0", html) == [Follow("http://shop/product/1"), Follow("http://shop/list/1")]


def test_a_product_on_one_page_is_a_row() -> None:
    html = f'<h1 class="title"> T &amp; é </h1>{SKU}{OFFER}'
    assert parsed("/product/7", html) == [Row("S-7", "T & é", "9.99", "EUR", "in stock", "http://shop/product/7")]


def test_a_product_on_two_pages_carries_its_title_to_the_second() -> None:
    (follow,) = parsed("/product/7", f'<h1 class="title">T</h1>{SKU}<a class="view" href="/view/7">x</a>')
    assert follow == Follow("http://shop/view/7", {"title": "T"})
    row = Row("S-7", "T", "9.99", "EUR", "in stock", "http://shop/view/7")
    assert parsed("/view/7", f"<h1>Price</h1>{SKU}{OFFER}", title="T") == [row]


def test_a_product_page_that_was_cut_short_is_an_error() -> None:
    with pytest.raises(ValueError, match="neither a price"):
        parsed("/product/7", f'<h1 class="title">T</h1>{SKU}')


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("http://shop/list/0", True),
        ("https://shop:8443/é?q=1", True),
        ("http://shop/a b", False),
        ("http://shop/a\n", False),
        ("ftp://shop/", False),
        ("http:///list", False),
        ("http://shop:port/", False),
        ("/list/0", False),
        ("", False),
    ],
)
def test_only_what_can_be_fetched_is_a_page(url: str, good: bool) -> None:
    assert is_page(url) is good


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        (None, 0.0),
        ("7", 7.0),
        ("Fri, 01 May 2026 12:00:30 GMT", 30.0),
        ("Fri, 01 May 2026 11:00:00 GMT", 0.0),
        ("soon", 0.0),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, wait_s: float) -> None:
    assert download.retry_after_s(header, NOW) == wait_s


@dataclass(frozen=True)
class ForNow:
    """A redirect that is not for good."""

    path: str


class Script:
    """A connection pool that answers from a list: a status, a path it has moved to, or an error to raise."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.urls, self.waited_s = list(answers), [], []

    def request(self, _method: str, url: str, **_: object) -> Any:
        self.urls.append(url)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        moved = (301, {"Location": answer}) if isinstance(answer, str) else (answer, {"Retry-After": "500"})
        status, headers = (302, {"Location": answer.path}) if isinstance(answer, ForNow) else moved
        return SimpleNamespace(status=status, data=b"body", headers=headers)

    def wait(self, wait_s: float) -> bool:
        self.waited_s.append(wait_s)
        return False

    def fetch(self) -> download.Fetched:
        return download.fetch(self, "http://shop/a", self.wait)  # type: ignore[arg-type]


def test_redirects_are_followed_on_the_same_site_only() -> None:
    script = Script("/b", "c", 200)
    assert script.fetch() == download.Fetched("http://shop/c", b"body")
    assert script.urls == ["http://shop/a", "http://shop/b", "http://shop/c"]
    with pytest.raises(download.Refused, match="leads to another site, http://elsewhere/"):
        Script("http://elsewhere/").fetch()
    with pytest.raises(download.Refused, match="more than 5 redirects"):
        Script(*(f"/{n}" for n in range(9))).fetch()


def test_what_leads_elsewhere_for_now_is_asked_again_and_believed_the_third_time() -> None:
    script = Script(ForNow("/b"), 200)
    assert script.fetch() == download.Fetched("http://shop/a", b"body")
    assert (script.urls, len(script.waited_s)) == (["http://shop/a"] * 2, 1)
    stubborn = Script(ForNow("/b"), ForNow("/b"), ForNow("/b"), 200)
    assert stubborn.fetch() == download.Fetched("http://shop/b", b"body")
    assert stubborn.urls == [*["http://shop/a"] * 3, "http://shop/b"]


def test_a_page_that_leads_to_itself_is_tried_again_and_given_up_in_the_end() -> None:
    assert Script("", 200).fetch() == download.Fetched("http://shop/a", b"body")
    with pytest.raises(download.Refused, match=r"HTTP 302: leads to http://shop/a for now \(6 attempts\)"):
        Script(*[ForNow("/a")] * 6).fetch()


def test_trouble_is_tried_again_five_times_and_later_each_time() -> None:
    refused = [NewConnectionError(None, "refused")] * 6  # type: ignore[arg-type]
    script = Script(*refused)
    with pytest.raises(download.Refused, match=r"NewConnectionError: .*refused \(6 attempts\)"):
        script.fetch()
    assert len(script.urls) == 6
    assert script.waited_s == sorted(script.waited_s)
    assert len(script.waited_s) == 5


def test_what_a_server_asks_to_wait_is_waited_up_to_a_minute() -> None:
    script = Script(429, 503, 200)
    assert script.fetch().body == b"body"
    assert script.waited_s == [60.0, 60.0]


def test_a_page_that_is_gone_is_not_tried_again() -> None:
    with pytest.raises(download.Refused, match="HTTP 404"):
        Script(404).fetch()


def test_a_worker_that_is_to_stop_does_not_wait_for_another_attempt() -> None:
    with pytest.raises(download.Interrupted):
        download.fetch(Script(503), "http://shop/a", lambda _: True)  # type: ignore[arg-type]


def test_an_outage_is_said_once_and_its_end_once() -> None:
    said: list[str] = []
    errors = [redis.ConnectionError("refused"), redis.TimeoutError("silent"), redis.BusyLoadingError("LOADING")]
    waited_s: list[float] = []

    def attempt() -> str:
        if errors:
            raise errors.pop(0)
        return "done"

    outage = patience.Outage("redis://q", said.append)
    assert patience.insist(attempt, outage, sleep=waited_s.append) == "done"
    assert said == ["queue redis://q does not answer (refused); trying again", "queue redis://q answers again"]
    assert len(waited_s) == 3


def test_patience_ends_when_told_and_an_error_of_ours_is_not_waited_for() -> None:
    def fail(error: redis.RedisError) -> Any:
        raise error

    outage = patience.Outage("redis://q")
    with pytest.raises(patience.GivenUp, match="refused"):
        patience.insist(lambda: fail(redis.ConnectionError("refused")), outage, until=lambda: True)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        patience.insist(lambda: fail(redis.ResponseError("WRONGTYPE")), outage)
    assert patience.passes(redis.ResponseError("MISCONF Errors writing to the AOF file"))


def test_delays_double_up_to_two_seconds() -> None:
    for failures, longest_s in [(1, 0.1), (2, 0.2), (3, 0.4), (6, 2.0), (5000, 2.0)]:
        assert longest_s / 2 <= patience.delay_s(failures) <= longest_s


def test_a_touch_changes_the_fingerprints_and_not_the_digest(tmp_path: Path) -> None:
    (tmp_path / "spiders").mkdir()
    (tmp_path / "data").mkdir()
    one = tmp_path / "spiders" / "one.py"
    one.write_text("1")
    before = fingerprints.take(tmp_path)
    assert list(before) == ["spiders/one.py"]
    (tmp_path / "data" / "rows.py").write_text("no code")
    (tmp_path / "spiders" / "log.txt").write_text("no code")
    assert fingerprints.take(tmp_path) == before
    mtime_ns = one.stat().st_mtime_ns
    one.touch()
    touched = fingerprints.take(tmp_path)
    assert touched["spiders/one.py"][0] >= mtime_ns
    assert fingerprints.digest(touched) == fingerprints.digest(before)
    one.write_text("2")
    edited = fingerprints.take(tmp_path)
    assert fingerprints.changed(before, edited) == ["spiders/one.py"]
    assert fingerprints.digest(edited) != fingerprints.digest(before)
    one.rename(tmp_path / "spiders" / "two.py")
    assert fingerprints.changed(edited, fingerprints.take(tmp_path)) == ["spiders/one.py", "spiders/two.py"]


def test_a_mark_waits_for_its_own_answer_and_for_another_connection_if_it_was_hung_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "PATH", str(tmp_path / "mark"))
    ours, allowed = marks.Marks(), threading.Event()

    def reach(name: str) -> bool:
        ours.reach(name)
        return allowed.is_set()

    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(marks.PATH)
        listener.listen()
        for names in (("taken", "fetched"), ("stored", "finished")):
            allowed.clear()
            reached = threads.submit(reach, names[0])
            with listener.accept()[0] as connection:
                for name in names:
                    allowed.clear()
                    reached = reached if name == names[0] else threads.submit(reach, name)
                    assert connection.recv(100) == f"{name}\n".encode()
                    connection.sendall(b"go ")
                    allowed.set()
                    connection.sendall(b"on\n")
                    assert reached.result(20)
        ours.close()


def test_a_database_is_a_path_or_a_postgresql_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_address.database("crawl.db")["NAME"] == str(tmp_path / "crawl.db")
    found = database_address.database("postgresql://me:p%40ss@db:5433/shop")
    assert [found[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")] == ["me", "p@ss", "db", "5433", "shop"]
    with pytest.raises(ValueError, match="mysql:// is not known"):
        database_address.database("mysql://db/shop")


@pytest.mark.parametrize(
    "words", [["--workers", "0"], ["--workers", "many"], ["--lease", "0"], ["--poll", "x"], ["--instance", "a b"]]
)
def test_options_that_make_no_sense_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        crawl_options.parse(words)
    assert end.value.code == 2
    assert "is no " in capsys.readouterr().err


def test_options_have_defaults() -> None:
    found = crawl_options.parse(["--instance", "n1"])
    assert (found.workers, found.lease, found.grace, found.poll, found.reload) == (4, 5.0, 1.0, 0.5, False)


def test_a_slot_whose_workers_die_one_upon_the_other_waits_longer_each_time() -> None:
    slots = Respawns()
    waits_s = []
    for _ in range(9):
        slots.started(3)
        assert slots.next_s(set()) == float("inf")
        slots.ended(3)
        assert slots.next_s({3}) == float("inf")
        waits_s.append(slots.next_s(set()))
    gaps_s = [later - sooner for sooner, later in itertools.pairwise(waits_s)]
    assert all(gap_s > 0 for gap_s in gaps_s[:5])
    assert slots.due(set()) == []
