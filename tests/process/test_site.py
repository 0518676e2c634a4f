"""The site as a process, over real sockets: crawls, the request log, how it starts and ends."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import pytest
from site_client import DEADLINE_S, SMALL, Scraper, crawl, site, spawn

# Crawls


def test_a_perfect_crawl_of_the_default_shop_is_525_requests() -> None:
    with site() as running:
        fetched = crawl(running.client())
        stats = running.control.ask("stats")
        assert running.ready["minimum"] == len(fetched) == stats["requests"] == 525
        assert stats["other"] == 0
        log = running.log()
    assert [line["path"] for line in log] == fetched
    assert [line["n"] for line in log] == list(range(1, 526))
    assert {line["outcome"] for line in log} == {"sent"}


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("shape", ["pages", "star", "chain", "two_page"])
def test_every_shape_can_be_crawled_in_its_minimum(shape: str, place: str) -> None:
    with site("--products", "7", "--list-pages", "3", "--shape", shape, "--next", place) as running:
        assert len(crawl(running.client())) == running.ready["minimum"]
        assert running.control.ask("truth")["minimum"] == running.ready["minimum"]


@pytest.mark.parametrize("shape", ["pages", "two_page"])
def test_the_truth_is_what_the_pages_show(shape: str) -> None:
    with site(*SMALL, "--shape", shape) as running:
        running.control.ask("bump", path="/product/3")
        client = running.client()
        for row in running.control.ask("truth")["rows"]:
            seen: dict[str, str] = {}
            for path in row["pages"]:
                seen |= Scraper(client.get(path)).fields
            client.send(seen["image"])
            seen["image_sha256"] = sha256(client.read()[2]).hexdigest()
            assert seen == row["versions"][-1]


def test_what_is_not_a_page_counts_as_other() -> None:
    with site(*SMALL) as running:
        client = running.client()
        statuses = []
        asked = ["GET /", "GET /robots.txt", "GET /sitemap.xml", "HEAD /product/1", "GET /image/1", "GET /product/31"]
        asked += ["GET /product/07", "POST /product/1", "GET /x"]
        for method, path in map(str.split, asked):
            client.send(path, method)
            statuses.append(client.read(has_body=method != "HEAD")[0])
        stats = running.control.ask("stats")
        assert statuses == [302, 200, 200, 200, 200, 404, 404, 405, 404]
        assert (stats["requests"], stats["other"]) == (0, 9)
        log = running.log()
        assert {(line["kind"], line["n"]) for line in log} == {("other", None)}
        assert [line["path"] for line in log if line["key"] is not None] == ["/image/1"]


def test_an_image_answers_get_and_head_alike() -> None:
    with site(*SMALL) as running:
        client = running.client()
        client.send("/image/7", "HEAD")
        _, head, _ = client.read(has_body=False)
        client.send("/image/7")
        _, got, body = client.read()
        assert head["content-type"] == got["content-type"] == "image/bmp"
        assert int(head["content-length"]) == len(body) == int(got["content-length"])


@pytest.mark.parametrize("shape", ["pages", "star", "chain", "two_page"])
def test_the_sitemap_lists_the_page_of_every_product_as_the_client_calls_the_site(shape: str) -> None:
    with site("--products", "7", "--list-pages", "3", "--shape", shape) as running:
        client = running.client()
        assert client.get("/robots.txt") == "User-agent: *\nAllow: /\n\nSitemap: http://shop/sitemap.xml\n"
        client.send("/sitemap.xml")
        status, headers, body = client.read()
        assert (status, headers["content-type"]) == (200, "application/xml; charset=utf-8")
        name = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
        urls = [one.text or "" for one in ElementTree.fromstring(body).iterfind(f"{name}url/{name}loc")]
        assert urls == [f"http://shop/product/{number}" for number in range(1, 8)]
        stats = running.control.ask("stats")
        assert (stats["requests"], stats["other"]) == (0, 2)
        assert all("SKU-" in client.get(url.removeprefix("http://shop")) for url in urls)


@pytest.mark.parametrize("lines", ["", "Host: \r\n", "Host: a b\r\n", "Host: <&\r\n"])
def test_without_a_host_that_can_be_one_the_site_calls_itself_by_its_own_address(lines: str) -> None:
    with site(*SMALL, "--addresses", "2") as running:
        client = running.client("127.0.0.2")
        client.sock.sendall(f"GET /robots.txt HTTP/1.0\r\n{lines}\r\n".encode())
        own = f"http://127.0.0.2:{running.address[1]}"
        assert client.rest().endswith(f"\nSitemap: {own}/sitemap.xml\n".encode())


def test_a_query_does_not_make_another_page() -> None:
    with site(*SMALL) as running:
        running.client().get("/product/7?from=list")
        assert [(line["path"], line["kind"]) for line in running.log()] == [("/product/7", "page")]


# The log


def test_sync_writes_open_requests_and_their_end_follows() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        client = running.hold("/product/1")
        running.wait_until_open(1)
        assert [line["outcome"] for line in running.log()] == ["open"]
        running.control.ask("release")
        client.read()
        assert running.control.ask("sync")["lines"] == 2
        assert [(line["seq"], line["outcome"]) for line in running.log()] == [(1, "open"), (1, "sent")]


def test_a_line_has_the_fields_of_the_contract() -> None:
    with site(*SMALL) as running:
        client = running.client()
        size = len(client.get("/product/7").encode())
        line = running.log()[0]
        assert list(line) == [
            *(
                "seq",
                "incarnation",
                "conn",
                "peer",
                "method",
                "path",
                "kind",
                "n",
                "key",
                "version",
                "status",
            ),
            *("bytes", "arrived_s", "held_s", "sent_s", "ended_s", "outcome", "late"),
        ]
        assert line["bytes"] > size
        assert line["peer"] == client.port
        assert line["key"] == "SKU-00007"


# Start and end


def test_the_end_of_stdin_ends_it_and_leaves_no_socket_file() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        running.hold("/product/1")
        running.wait_until_open(1)
        assert running.end() == 0
        assert not running.control_path.exists()
        last = json.loads(running.log_path.read_text().splitlines()[-1])
        assert last["outcome"] == "open"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_shop_without_control_quietly(number: int) -> None:
    process = spawn(*SMALL)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["minimum"] == 33
    process.send_signal(number)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (0, "", "")


def refused(*options: str) -> str:
    """Start a site that can't start; returns its one line of complaint."""
    process = spawn(*options)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1), err
    return err


def test_a_port_in_use_is_one_line_and_exit_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refused("--port", str(taken.getsockname()[1]))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--shape", "ring"), "ring"),
        (("--products", "0"), "--products 0"),
        (("--products", "3", "--list-pages", "4"), "empty"),
        (("--port", "70000"), "0 (any free one) to 65535"),
        (("--addresses", "0"), "--addresses 0: give 1 to 16"),
        (("--addresses", "17"), "--addresses 17: give 1 to 16"),
        (("--addresses", "2", "--host", "127.0.0.7"), "leave out --host 127.0.0.7"),
        (("--hold-s", "0"), "--hold-s"),
        (("--log", "/nowhere/at/all"), "/nowhere/at/all"),
        (("--control", "/nowhere/at/all"), "can't start"),
        (("--host", "256.0.0.1"), "can't start"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(options: tuple[str, ...], word: str) -> None:
    assert word in refused(*options)


def test_a_control_path_that_is_taken_is_refused_and_left_alone(tmp_path: Path) -> None:
    taken = tmp_path / "c"
    taken.write_text("mine")
    assert "can't start" in refused("--control", str(taken))
    assert taken.read_text() == "mine"


def test_many_sites_run_side_by_side() -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(site(*SMALL, "--seed", str(seed))) for seed in range(3)]
        pages = [running.client().get("/product/1") for running in sites]
    assert len(set(pages)) == 3
