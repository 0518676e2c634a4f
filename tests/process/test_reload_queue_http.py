"""The HTTP service of the crawler reload_queue: jobs for programs, a page for people, nothing for other web pages."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from crawler_run import real_site, scripted_shop
from queue_run import DEADLINE_S, Crawl, Server, until

PAGE = "http://shop.example/list/0"
JSON = {"Accept": "application/json"}
BROWSER = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Site": "same-origin"}


class Service:
    """A running `manage.py runserver`."""

    def __init__(self, crawl: Crawl, *words: str) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log_path = crawl.store / "service.log"
        command = [sys.executable, str(crawl.code / "manage.py"), "runserver", f"127.0.0.1:{port}", *words]
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(command, cwd=crawl.store, env=crawl.environment, stdout=log, stderr=log)
        until(self._listens, "the service", self.log_path.read_text)

    def get(self, path: str, **headers: str) -> requests.Response:
        return requests.get(self.url + path, headers=headers, timeout=DEADLINE_S)

    def post(self, path: str, told: object = None, **headers: str) -> requests.Response:
        return requests.post(self.url + path, json=told, headers=headers, timeout=DEADLINE_S, allow_redirects=False)

    def close(self) -> None:
        with suppress(psutil.NoSuchProcess):
            for process in [*psutil.Process(self.process.pid).children(recursive=True), self.process]:
                process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.log_path.read_text()
        with suppress(requests.ConnectionError):
            self.get("/no-such-page")
            return True
        return False


@contextmanager
def service(crawl: Crawl, *words: str) -> Iterator[Service]:
    running = Service(crawl, *words)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def web(crawl: Crawl) -> Iterator[Service]:
    with service(crawl, "--noreload") as running:
        yield running


def main_of(page: requests.Response) -> str:
    """What a person sees: the main part without tags, blanks made one."""
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    found = re.search(r"<main>(.*)</main>", page.text, re.DOTALL)
    assert found, page.text
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def sentence(answer: requests.Response, status: int) -> str:
    """The one sentence of an error."""
    assert (answer.status_code, list(answer.json())) == (status, ["error"]), answer.text
    assert "\n" not in answer.json()["error"]
    return str(answer.json()["error"])


def queued(server: Server) -> int:
    return int(server.client.llen("crawl:queue"))


def test_a_job_is_submitted_crawled_by_two_instances_and_seen_to_its_end(
    tmp_path: Path, server: Server, web: Service, crawl: Crawl
) -> None:
    (tmp_path / "other").mkdir()
    other = Crawl(tmp_path / "other", server)
    with real_site("--shape", "two_page") as site, crawl.instance("n1") as one, other.instance("n2") as two:
        one.said("generation 1 runs")
        two.said("generation 1 runs")
        answer = web.post("/jobs", {"url": f"{site.url}/list/0", "spider": "shop"})
        assert (answer.status_code, answer.json()) == (201, {"id": "shop-1"})
        assert answer.headers["Location"] == "/jobs/shop-1"
        until(lambda: web.get("/jobs/shop-1").json()["remaining"] == 0, "the end of the job")
        told = web.get("/jobs/shop-1").json()
        assert told.pop("submitted_s") > 0
        count = site.minimum
        assert told == {
            "id": "shop-1", "spider": "shop", "url": f"{site.url}/list/0", "added": count, "finished": count,
            "failed": 0, "remaining": 0, "failures": {},
        }  # fmt: skip
        seen = main_of(web.get("/"))
        assert "shop-1 done spider shop, submitted" in seen
        assert f"NR remaining 0 NA added {count} NF finished {count} NE failed 0" in seen
        assert "0 open jobs, 0 tasks queued, 0 in hand" in seen
        for running in crawl.status()["instances"]:
            assert re.search(rf"{running['name']} running 1 0 {running['digest'][:12]} 4 0 \d+\.\d s ago", seen), seen
        everything = web.get("/jobs").json()
        assert everything.keys() == crawl.status().keys()
        assert everything["jobs"] == crawl.status()["jobs"]


def test_the_same_id_again_is_the_same_job(web: Service, server: Server) -> None:
    first = web.post("/jobs", {"url": PAGE, "spider": "shop", "id": "mine"})
    again = web.post("/jobs", {"url": "http://elsewhere.example/", "spider": "shop", "id": "mine"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == {"id": "mine"}
    assert web.get("/jobs/mine").json()["url"] == PAGE
    assert queued(server) == 1


BAD = {
    "no JSON": (b"{", "the body is no JSON"),
    "not even text": (b"\xff\xfe\xfa", "the body is no JSON"),
    "deep": (b"[" * 60000, "the body is no JSON"),
    "no object": (b"[]", 'a job is a JSON object with "url", "spider" and, if it is to have that, an "id"'),
    "no spider": (b'{"url": "http://a/"}', "a job is a JSON object with"),
    "misspelt": (b'{"url": "http://a/", "spider": "shop", "ID": "x"}', "a job is a JSON object with"),
    "unknown spider": (b'{"url": "http://a/", "spider": "spop"}', "unknown spider 'spop'; known: shop"),
    "no URL": (b'{"url": "a/b", "spider": "shop"}', "'a/b' is no URL of a page"),
    "no text": (b'{"url": 7, "spider": "shop"}', '"url" is no text'),
    "half a letter": (b'{"url": "http://a/\\ud800", "spider": "shop"}', '"url" is no text'),
    "dots": (b'{"url": "http://a/", "spider": "shop", "id": ".."}', "'..' is no job id"),
    "bad id": (b'{"url": "http://a/", "spider": "shop", "id": "a b"}', "'a b' is no job id"),
}


def test_what_is_no_job_is_refused_in_a_sentence_and_queues_nothing(web: Service, server: Server) -> None:
    for name, (body, why) in BAD.items():
        answer = requests.post(f"{web.url}/jobs", data=body, timeout=DEADLINE_S)
        assert sentence(answer, 400).startswith(why), name
    assert "at most 65536 bytes" in sentence(requests.post(f"{web.url}/jobs", data=b"x" * 65537, timeout=9), 413)
    assert server.client.keys("*") == []


def test_what_is_not_there_is_refused_in_a_sentence(web: Service) -> None:
    assert sentence(web.get("/jobs/none"), 404) == "there is no job none"
    assert sentence(web.post("/jobs/none/retry"), 404) == "there is no job none"
    assert "POST /jobs/ID/retry" in sentence(web.get("/job/1/2"), 404)
    answer = requests.delete(f"{web.url}/jobs", timeout=DEADLINE_S)
    assert sentence(answer, 405) == "DELETE is not possible here; use GET or POST or HEAD"
    assert answer.headers["Allow"] == "GET, POST, HEAD"


def failed_job(web: Service, crawl: Crawl, url: str) -> str:
    """A job whose only page is not there, at its end."""
    with crawl.instance("n1", "--workers", "1", "--until-done") as running:
        assert web.post("/jobs", {"url": f"{url}/nowhere", "spider": "shop", "id": "bad"}).status_code == 201
        assert running.end() == 0
    return "bad"


def test_a_failure_has_its_reason_and_is_tried_again_by_a_program_and_by_a_person(
    web: Service, crawl: Crawl, server: Server
) -> None:
    with scripted_shop({}) as site:
        job = failed_job(web, crawl, site.url)
        ((url, reason),) = web.get(f"/jobs/{job}").json()["failures"].items()
        assert url == f"{site.url}/nowhere"
        assert "404" in reason
        page = web.get("/")
        assert f"{url} {reason} Retry the failed one" in main_of(page)
        assert f'<form method="post" action="/jobs/{job}/retry">' in page.text
        answer = web.post(f"/jobs/{job}/retry", **JSON)
        assert (answer.status_code, answer.json()) == (200, {"id": job, "queued": 1})
        assert crawl.counts(job) == (1, 1, 0, 0)
        assert web.post(f"/jobs/{job}/retry", **JSON).json() == {"id": job, "queued": 0}
        with crawl.instance("n1", "--workers", "1", "--until-done") as running:
            assert running.end() == 0
        answer = web.post(f"/jobs/{job}/retry", Origin=web.url, **BROWSER)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        assert crawl.counts(job) == (1, 1, 0, 0)
        assert queued(server) == 1


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # another port of this machine
]


def test_what_another_web_page_sends_is_refused(web: Service, server: Server) -> None:
    for headers in FOREIGN:
        assert "another origin" in sentence(web.post("/jobs", {"url": PAGE, "spider": "shop"}, **headers), 403), headers
        assert "another origin" in sentence(web.post("/jobs/a/retry", **headers), 403), headers
    other_port = {"Origin": "http://127.0.0.1:1"}
    assert "another origin" in sentence(web.post("/jobs", {"url": PAGE, "spider": "shop"}, **other_port), 403)
    assert "answers only to 127.0.0.1, localhost" in sentence(web.get("/", Host="evil.example"), 400)
    assert server.client.keys("*") == []
    own = {"Origin": web.url, "Sec-Fetch-Site": "same-origin"}
    assert web.post("/jobs", {"url": PAGE, "spider": "shop"}, **own).status_code == 201


def test_the_page_runs_nothing_that_a_job_brings_and_fetches_nothing(web: Service) -> None:
    nasty = "http://shop.example/<script>alert(1)</script>\"'"
    assert web.post("/jobs", {"url": nasty, "spider": "shop"}).status_code == 201
    page = web.get("/")
    assert nasty not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    (nonce,) = set(re.findall(r'<(?:script|style) nonce="([^"]+)">', page.text))
    rules = page.headers["Content-Security-Policy"]
    assert rules.startswith(f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; ")
    assert nonce not in web.get("/").text
    assert page.text.count("<script") == 1
    assert not re.search(r"\bsrc=|@import|url\(", page.text)
    assert re.findall(r"<link[^>]*>", page.text) == ['<link rel="icon" href="data:,">']
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text


def test_without_the_queue_it_says_so_and_finds_back(web: Service, server: Server) -> None:
    job: dict[str, Any] = {"url": PAGE, "spider": "shop", "id": "mine"}
    assert web.post("/jobs", job).status_code == 201
    server.kill()
    why = f"queue {server.url} did not answer within 1 s"
    assert sentence(web.get("/jobs/mine"), 503).startswith(why)
    answer = web.post("/jobs", {**job, "id": "other"})
    assert sentence(answer, 503).startswith(why)
    assert answer.headers["Retry-After"] == "1"
    page = web.get("/")
    assert page.status_code == 503
    assert main_of(page).startswith(f"No queue. {why}")
    server.start()
    assert web.get("/jobs/mine").json()["remaining"] == 1
    assert main_of(web.get("/")).startswith("1 open job, 1 task queued, 0 in hand")
    assert "Traceback" not in web.log_path.read_text()


def test_it_runs_with_django_s_reloader_and_needs_no_database(crawl: Crawl) -> None:
    for path in crawl.store.glob("crawl.db*"):
        path.unlink()
    with service(crawl) as running:
        assert running.get("/").status_code == 200
        assert list(crawl.store.glob("crawl.db*")) == []
        views = crawl.code / "crawling" / "views.py"
        views.write_text(views.read_text().replace("there is no job", "nobody knows a job"))
        about = views.stat()
        # An edit before its first look is what Django's own reloader takes for the old code: then another one is made.
        for later_s in range(2, 12, 2):
            os.utime(views, (about.st_atime, about.st_mtime + later_s))
            with suppress(AssertionError):
                until(lambda: "nobody knows" in _text(running, "/jobs/none"), "the new code", within_s=5)
                break
        assert "nobody knows" in _text(running, "/jobs/none"), running.log_path.read_text()


def _text(running: Service, path: str) -> str:
    with suppress(requests.ConnectionError):  # between the old process and the new one
        return running.get(path).text
    return ""
