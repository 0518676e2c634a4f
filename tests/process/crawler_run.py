"""Reference crawlers as real processes, the real shop, and a scripted shop that misbehaves."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CRAWLERS = ROOT / "crawlers"
DEADLINE_S = 60


def manifest(name: str) -> dict[str, Any]:
    """A crawler's subject.toml."""
    return tomllib.loads((CRAWLERS / name / "subject.toml").read_text(encoding="utf-8"))


def command(name: str, site_url: str) -> list[str]:
    """The command of a manifest, filled in; a word that names a file beside it becomes absolute."""
    filled = [word.format(python=sys.executable, site_url=site_url) for word in manifest(name)["command"]]
    return [str(CRAWLERS / name / word) if (CRAWLERS / name / word).is_file() else word for word in filled]


def environment(name: str, store: Path, site_url: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The clean environment that the harness promises to a subject."""
    given = {"KILLTEST_SITE_URL": site_url, "KILLTEST_STORE": str(store), "KILLTEST_INCARNATION": "0"}
    return {"PATH": os.environ["PATH"], **given, **manifest(name).get("env", {}), **extra}


def start(name: str, store: Path, site_url: str, **extra: str) -> subprocess.Popen[str]:
    """Start a crawler in its store; `extra` is added to its environment."""
    return subprocess.Popen(
        command(name, site_url),
        cwd=store,
        env=environment(name, store, site_url, extra),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(name: str, store: Path, site_url: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a crawler to its end; subprocess.TimeoutExpired when there is none."""
    with start(name, store, site_url, **extra) as process:
        try:
            out, err = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def stored(name: str, store: Path) -> list[dict[str, str]]:
    """What a crawler stored, read as its manifest says."""
    spec = manifest(name)["store"]
    path = store / spec["path"]
    if spec["reader"] == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: row[key] for key in row if key != "key"} for row in select(path, spec["query"])]


def select(path: Path, query: str) -> list[dict[str, Any]]:
    """The rows of a query on an SQLite file, by column name."""
    db = sqlite3.connect(path)
    try:
        cursor = db.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]
    finally:
        db.close()


class Site:
    """The real shop, over its control channel."""

    def __init__(self, ready: dict[str, Any], channel: socket.socket) -> None:
        self.url: str = ready["url"]
        self.minimum: int = ready["minimum"]
        self._stream = channel.makefile("rw", encoding="utf-8")

    def ask(self, what: str, **arguments: object) -> dict[str, Any]:
        """One request on the control channel; events in between are passed over."""
        self._stream.write(json.dumps({"id": 1, "do": what, **arguments}) + "\n")
        self._stream.flush()
        for line in self._stream:
            reply: dict[str, Any] = json.loads(line)
            if reply.get("id") == 1:
                assert reply["ok"], reply
                return reply
        raise AssertionError(f"the site ended before it answered {what!r}")

    def requests(self) -> int:
        """Page requests so far."""
        count: int = self.ask("stats")["requests"]
        return count

    def truth(self) -> list[dict[str, str]]:
        """The products as first served, without what these crawlers don't store."""
        rows = [row["versions"][0] for row in self.ask("truth")["rows"]]
        return [{name: value for name, value in row.items() if name != "image"} for row in rows]


@contextmanager
def real_site(*arguments: str) -> Iterator[Site]:
    """The shop on a free port: 3 list pages and 30 products unless `arguments` say otherwise."""
    with tempfile.TemporaryDirectory(prefix="kt") as folder:  # short: a socket's path has some 100 bytes
        control = f"{folder}/control"
        words = ["--products", "30", "--list-pages", "3", "--control", control, *arguments]
        with subprocess.Popen(
            [sys.executable, "-m", "killtest_testsite", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            try:
                ready = json.loads(process.stdout.readline())
                with socket.socket(socket.AF_UNIX) as channel:
                    channel.settimeout(DEADLINE_S)
                    channel.connect(control)
                    yield Site(ready, channel)
            finally:
                process.stdin.close()  # the end of its input ends the site


@dataclass
class Answer:
    """One scripted answer of a `ScriptedShop`."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None  # send only so many bytes of the body, then hang up
    hold: threading.Event | None = None  # send nothing before this is set
    hold_at: int | None = None  # or send so many bytes of the body first


def product_html(number: int) -> str:
    """A product page that every crawler here can read."""
    spans = {"price": "9.99", "currency": "EUR", "availability": "in stock", "sku": f"SKU-{number:05d}"}
    facts = "".join(f'<span class="{name}">{text}</span>' for name, text in spans.items())
    return f'<h1 class="title">T&eacute;a &amp; p{number}</h1>{facts}'


def list_html(*numbers: int) -> str:
    """A list page with links to these products."""
    links = "".join(f'<a href="/product/{number}">{number}</a>' for number in numbers)
    return f'<div class="products">{links}</div>'


@dataclass(frozen=True)
class Delivery:
    """What arrived with a POST."""

    key: str  # as it stands in the header; empty without one
    body: dict[str, Any]


class ScriptedShop(ThreadingHTTPServer):
    """Answers each path with the next of its scripted answers; the last one is repeated."""

    daemon_threads = True

    def __init__(self, script: Mapping[str, list[Answer]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = {path: list(answers) for path, answers in script.items()}
        self.seen: Counter[str] = Counter()
        self.delivered: list[Delivery] = []
        self._arrival = threading.Condition()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str) -> Answer:
        """The answer whose turn it is; 404 for a path without a script."""
        answers = self.script.get(path, [Answer(status=404)])
        with self._arrival:
            self.seen[path] += 1
            self._arrival.notify_all()
            return answers[min(self.seen[path], len(answers)) - 1]

    def wait_for(self, path: str, times: int = 1) -> None:
        """Return once so many requests for `path` have arrived."""
        with self._arrival:
            came = self._arrival.wait_for(lambda: self.seen[path] >= times, DEADLINE_S)
            assert came, f"{self.seen[path]} of {times} requests for {path}"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedShop

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.delivered.append(Delivery(self.headers.get("Idempotency-Key", ""), json.loads(body)))
        self.do_GET()

    def do_GET(self) -> None:
        answer = self.server.answer(self.path)
        if answer.hold and answer.hold_at is None:
            answer.hold.wait(DEADLINE_S)
        with suppress(ConnectionError):  # the client may be dead by now: some tests kill it
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, bytes) else answer.body.encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer.hold and answer.hold_at is not None:
            self.wfile.write(body[: answer.hold_at])
            answer.hold.wait(DEADLINE_S)
        self.wfile.write(body[answer.hold_at or 0 : answer.cut])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Quiet: a test says itself what went wrong."""


@contextmanager
def scripted_shop(script: Mapping[str, list[Answer]]) -> Iterator[ScriptedShop]:
    """A running ScriptedShop."""
    with ScriptedShop(script) as shop:
        thread = threading.Thread(target=shop.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield shop
        finally:
            shop.shutdown()
            thread.join()
