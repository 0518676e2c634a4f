"""`killtest inspect` on JOBDIRs that real crawls with Scrapy left, and what a trial writes down of them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from crawler_run import Site, real_site
from killtest.conduct import trial
from killtest.jobdir import border, stats_dump
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Limits, SiteNeeds, StoreNeeds, Subject
from killtest.plan.schedule import Schedule
from killtest.plan.subject import missing_of_extra

needs_scrapy = pytest.mark.skipif(bool(missing_of_extra("scrapy")), reason="killtest's extra scrapy is not installed")
QUEUES = {"lifo": "PickleLifoDiskQueue", "fifo": "PickleFifoDiskQueue", "sqlite": "PickleFifoSQLiteQueue"}
SPIDER = """
import os, signal
import scrapy

class Shop(scrapy.Spider):
    name = "shop"
    custom_settings = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "CONCURRENT_REQUESTS": 2}

    def __init__(self, site_url, at="0", signal="INT"):
        super().__init__()
        self.start_urls = [site_url + "/list/0"]
        self.at, self.signal, self.pages = int(at), signal, 0

    def parse(self, response):
        self.pages += 1
        if self.pages == self.at:
            os.kill(os.getpid(), getattr(signal, "SIG" + self.signal))
        self.state["pages"] = self.state.get("pages", 0) + 1
        for href in response.css(".products a::attr(href), a.next::attr(href)").getall():
            yield response.follow(href)
"""


def crawl(folder: Path, site: Site, kind: str, at: int = 0, signal: str = "INT") -> subprocess.CompletedProcess[str]:
    """A crawl with the JOBDIR `job`, which gets that signal as its page number `at` is read."""
    (folder / "spider.py").write_text(SPIDER)
    settings = ["-s", "JOBDIR=job", "-s", f"SCHEDULER_DISK_QUEUE=scrapy.squeues.{QUEUES[kind]}"]
    words = ["runspider", "spider.py", "-a", f"site_url={site.url}", "-a", f"at={at}", "-a", f"signal={signal}"]
    command = [sys.executable, "-m", "scrapy", *words, *settings]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def inspect(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "inspect", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


@needs_scrapy
@pytest.mark.parametrize("kind", QUEUES)
def test_a_clean_stop_and_its_resume(kind: str, tmp_path: Path) -> None:
    with real_site("--list-pages", "1") as site:
        stopped = crawl(tmp_path, site, kind, at=8)
        before = contents(tmp_path / "job")
        told, as_json = inspect(tmp_path, "job"), inspect(tmp_path, "job", "--json")
        assert contents(tmp_path / "job") == before
        resumed = crawl(tmp_path, site, kind)
        requests = site.requests()
    assert (stopped.returncode, told.returncode, as_json.returncode) == (0, 0, 0), told.stdout + told.stderr
    stats = stats_of(tmp_path, stopped.stderr)
    found: dict[str, Any] = json.loads(as_json.stdout)
    assert found["resume"]["loads"] == stats["scheduler/enqueued"] - stats["scheduler/dequeued"]
    assert f"Resuming crawl ({found['resume']['loads']} requests scheduled)" in resumed.stderr
    assert (found["findings"], found["resume"]["forgets"]) == ([], 0)
    assert found["state"] == {"pages": stats["response_received_count"]}
    assert found["fingerprints"] == stats["scheduler/enqueued"] - 1  # the start request is not filtered
    assert {queue["kind"] for queue in found["queues"]} == {kind}
    assert f"  a resume loads {found['resume']['loads']} of {found['resume']['loads']} queued requests\n" in told.stdout
    assert f"GET {site.url}/product/" in told.stdout
    assert "\nFindings\n  none\n" in told.stdout
    assert "\x1b" not in told.stdout
    assert requests == site.minimum + 1  # a resume asks for the start page again


def stats_of(folder: Path, log: str) -> Any:
    (folder / "log").write_text(log)
    return stats_dump.read(folder / "log")


@needs_scrapy
@pytest.mark.parametrize("kind", QUEUES)
def test_a_kill_of_the_first_run(kind: str, tmp_path: Path) -> None:
    with real_site("--list-pages", "1") as site:
        killed = crawl(tmp_path, site, kind, at=8, signal="KILL")
    before = contents(tmp_path / "job")
    told = inspect(tmp_path, "job")
    assert contents(tmp_path / "job") == before
    assert (killed.returncode, told.returncode) == (-9, 1), told.stderr
    assert re.search(r"^  no_index  requests.queue/active.json: it is not there", told.stdout, re.MULTILINE)
    assert "  active.json is missing: no queue is loaded\n" in told.stdout
    assert ("lifo_header_differs" in told.stdout, "fifo_no_info" in told.stdout) == (kind == "lifo", kind == "fifo")
    assert "  no fingerprint is known: a page is fetched again where a link leads to it\n" in told.stdout


@needs_scrapy
def test_what_fails_at_its_start_ends_with_1_and_empties_the_state(tmp_path: Path) -> None:
    with real_site("--list-pages", "1") as site:
        crawl(tmp_path, site, "lifo", at=8)
        (queue,) = tmp_path.glob("job/requests.queue/127.0.0.1-*/0")
        queue.write_bytes(b"")
        told = inspect(tmp_path, "job")
        requests = site.requests()
        resumed = crawl(tmp_path, site, "lifo")
        assert site.requests() == requests
    assert "it makes no request, ends with exit code 1 and empties spider.state" in told.stdout
    assert (told.returncode, resumed.returncode, (tmp_path / "job" / "spider.state").read_bytes()) == (1, 1, b"")
    assert "struct.error" in resumed.stderr


@needs_scrapy
def test_a_state_that_can_not_be_read_is_gone_and_the_spider_lacks_it(tmp_path: Path) -> None:
    with real_site("--list-pages", "1") as site:
        crawl(tmp_path, site, "lifo", at=8)
        (tmp_path / "job" / "spider.state").write_bytes(b"\x80\x04")
        told = inspect(tmp_path, "job")
        resumed = crawl(tmp_path, site, "lifo")
    assert "the spider goes on without its attribute `state`, and the file is emptied when it is closed" in told.stdout
    assert "AttributeError: 'Shop' object has no attribute 'state'" in resumed.stderr
    assert (tmp_path / "job" / "spider.state").read_bytes() == b""


@needs_scrapy
def test_a_count_that_is_too_high_never_ends(tmp_path: Path) -> None:
    with real_site("--list-pages", "1") as site:
        crawl(tmp_path, site, "lifo", at=8)
        (queue,) = tmp_path.glob("job/requests.queue/127.0.0.1-*/0")
        data = queue.read_bytes()
        queue.write_bytes((int.from_bytes(data[:4], "big") + 1).to_bytes(4, "big") + data[4:])
        told = inspect(tmp_path, "job")
        assert "each further look raises, every 5 s, and the crawl never ends" in told.stdout
        command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-a", f"site_url={site.url}"]
        process = subprocess.Popen([*command, "-s", "JOBDIR=job"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        failures = 0
        for line in process.stderr:  # the third comes some ten seconds later: nothing else is left to do
            failures += line.startswith("OSError: [Errno 22]")
            if failures == 3:
                break
        assert process.poll() is None
        process.kill()
        process.communicate()
    assert failures == 3


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["none"], "none is not there; give the folder that the spider got as JOBDIR, with requests.seen, "),
        (["file"], "file is a file; give the folder"),
        (["."], ". is no JOBDIR: none of requests.seen, requests.queue, spider.state is in it"),
        ([], "Missing argument 'DIR'"),
    ],
)
def test_what_is_no_jobdir_is_usage(words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = inspect(tmp_path, *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""


@needs_scrapy
@pytest.mark.parametrize("kind", QUEUES)
def test_a_trial_writes_down_every_border(kind: str, tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(SPIDER)
    queue = f"SCHEDULER_DISK_QUEUE=scrapy.squeues.{QUEUES[kind]}"
    words = ("-a", "site_url={site_url}", "-s", "JOBDIR=job", "-s", queue)
    who = Subject(
        "shop",
        ("{python}", "-m", "scrapy", "runspider", "spider.py", *words),
        StoreNeeds("jsonl", "none.jsonl", key="sku"),
        limits=Limits(idle_s=8, total_s=90),
        folder=str(tmp_path),
        jobdir="job",
    )
    planned = Planned(who, Schedule("s", ("request:8 INT", "request:4 KILL")))
    place = tmp_path / "trial"
    found = trial.run(planned, SiteNeeds(products=30, list_pages=1), place)
    clean, killed, last = (found.jobdirs[number] for number in range(3))
    assert found.jobdirs == border.read(place)
    assert (clean["findings"], clean["stats"]["finish_reason"]) == ([], "shutdown")
    assert resumed(place, 1) == clean["resume"]["loads"] > 0
    assert (killed["stats"], killed["state"]) == (None, clean["state"])
    believed = sum(queue["believed"] for queue in killed["queues"] if queue["listed"])
    assert resumed(place, 2) == believed
    if kind == "lifo":  # its header is that of the clean stop, and the killed run has taken requests out
        assert "lifo_header_differs" in killed["findings"]
        assert any("the crawl never ends" in words for words in killed["resume"]["words"])
        assert (found.course.ending, last["stats"]) == ("hung", None)
        pages = sum(one.incarnation == 2 and one.path != "/list/0" for one in found.requests)
        assert killed["resume"]["loads"] == pages < believed
    else:
        assert (found.course.ending, last["stats"]["finish_reason"]) == ("finished", "finished")
        assert (last["findings"], last["index"], last["queues"]) == ([], {}, [])


def resumed(place: Path, incarnation: int) -> int:
    """How many requests Scrapy said to resume with."""
    log = (place / f"incarnation-{incarnation}.stderr").read_text()
    (count,) = re.findall(r"Resuming crawl \((\d+) requests", log)
    return int(count)
