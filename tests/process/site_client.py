"""A small synchronous client of the site for tests: its process, its control channel, and raw connections."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

DEADLINE_S = 20.0
SILENCE_S = 0.15

Fields = dict[str, Any]

# The options of a shop of 33 pages.
SMALL = ("--products", "30", "--list-pages", "3")


class Control:
    """The harness's side of the control channel: a command waits for its reply, events queue up."""

    def __init__(self, path: Path) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(str(path))
        self._lines = self.sock.makefile("rb")
        self._events: list[Fields] = []
        self._last_id = 0

    def send(self, do: str, **arguments: Any) -> int:
        """Send a command without waiting; returns its id."""
        self._last_id += 1
        self.send_raw(json.dumps({"id": self._last_id, "do": do, **arguments}).encode() + b"\n")
        return self._last_id

    def send_raw(self, data: bytes) -> None:
        """Send any bytes."""
        self.sock.sendall(data)

    def ask(self, do: str, **arguments: Any) -> Fields:
        """Send a command and return its reply, which must be ok."""
        reply = self.reply(self.send(do, **arguments))
        assert reply["ok"], reply
        return reply

    def reply(self, number: int | None) -> Fields:
        """Wait for the reply with an id; events on the way are kept."""
        while True:
            message = self._read()
            if "event" in message:
                self._events.append(message)
            else:
                assert message["id"] == number, message
                return message

    def event(self, name: str) -> Fields:
        """Wait for an event; others before it are dropped."""
        while True:
            message = self._events.pop(0) if self._events else self._read()
            if message.get("event") == name:
                return message

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self.sock.close()

    def _read(self) -> Fields:
        line = self._lines.readline()
        assert line, "the site closed the control channel"
        message: Fields = json.loads(line)
        return message


class Client:
    """A connection of a crawler, raw enough to send anything and to hang up at any moment."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.sock = socket.create_connection(address, timeout=DEADLINE_S)
        self.port: int = self.sock.getsockname()[1]
        self._file = self.sock.makefile("rb")

    def send(self, path: str, method: str = "GET", headers: str = "") -> None:
        """Send a request."""
        self.sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: shop\r\n{headers}\r\n".encode())

    def read(self, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        """Wait for an answer: status, headers with names in lower case, body."""
        status_line = self._file.readline()
        assert status_line, "the site closed the connection without an answer"
        headers: dict[str, str] = {}
        while (line := self._file.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self._file.read(int(headers.get("content-length", 0))) if has_body else b""
        return int(status_line.split()[1]), headers, body

    def get(self, path: str) -> str:
        """Fetch a page that is there, as text."""
        self.send(path)
        status, _, body = self.read()
        assert status == 200, (path, status)
        return body.decode()

    def rest(self) -> bytes:
        """Everything until the site closes; ConnectionResetError when it resets."""
        return self._file.read()

    def silent(self, for_s: float = SILENCE_S) -> bool:
        """Whether not a byte comes for so long: the one thing that can only be seen by waiting."""
        self.sock.settimeout(for_s)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self.sock.settimeout(DEADLINE_S)
        return False

    def close(self) -> None:
        """Hang up, like a process that was killed."""
        self._file.close()
        self.sock.close()


class SiteProcess:
    """A running site in a short private folder, with its control channel and log."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kt-"))
        self.control_path, self.log_path = self.folder / "c", self.folder / "site.jsonl"
        paths = ["--control", str(self.control_path), "--log", str(self.log_path)]
        # Held for so long that a hold nobody released fails the test instead of passing by itself.
        self.process = spawn(*paths, "--hold-s", "60", *options)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.ready: Fields = json.loads(line)
        url = urlsplit(self.ready["url"])
        self.address = (str(url.hostname), int(url.port or 0))
        self._clients: list[Client] = []
        self.control = Control(self.control_path)

    def client(self, host: str | None = None) -> Client:
        """A new connection to the shop, at its first address unless `host` is another of them."""
        client = Client((host or self.address[0], self.address[1]))
        self._clients.append(client)
        return client

    def hold(self, path: str, host: str | None = None) -> Client:
        """A client that has sent a request, which a frozen site holds."""
        client = self.client(host)
        client.send(path)
        return client

    def wait_until_open(self, count: int) -> list[Fields]:
        """Ask until so many requests are in flight, and return them."""
        deadline = time.monotonic() + DEADLINE_S
        while len(found := self.control.ask("open")["open"]) != count:
            assert time.monotonic() < deadline, f"{len(found)} requests open, waited for {count}"
        return list(found)

    def log(self) -> list[Fields]:
        """The request log so far."""
        self.control.ask("sync")
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]

    def end(self) -> int:
        """End it the way the harness does, by closing its standard input; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for client in self._clients:
            client.close()
        self.control.close()
        code = self.end()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        complaints = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        shutil.rmtree(self.folder)
        if kind is None:
            assert (code, complaints) == (0, ""), complaints


def spawn(*options: str) -> subprocess.Popen[str]:
    """Start a site process with pipes as its standard streams."""
    return subprocess.Popen(
        [sys.executable, "-m", "killtest_testsite", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )


@contextmanager
def site(*options: str) -> Iterator[SiteProcess]:
    """A site for the length of a test; it must end with 0 and say nothing on standard error."""
    with SiteProcess(*options) as running:
        yield running


def crawl(client: Client, start: str = "/list/0") -> list[str]:
    """A perfect crawl: the paths it fetched, in order, each once; images are not followed."""
    todo, done = [start], []
    while todo:
        path = todo.pop(0)
        done.append(path)
        for link in links(client.get(path)):
            if link not in done and link not in todo:
                todo.append(link)
    return done


def links(html: str) -> list[str]:
    """The targets of the links of a page, in order of appearance."""
    return re.findall(r'<a [^>]*href="([^"]+)"', html)


class Scraper(HTMLParser):
    """Reads the fields of a product page as a reader sees them: decoded."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, str] = {}
        self._field: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note which field the text that follows belongs to."""
        values = dict(attrs)
        name = values.get("class")
        if tag == "img":
            self.fields["image"] = str(values["src"])
        elif name in ("sku", "title", "price", "currency", "availability"):
            self._field = name
            self.fields[name] = ""

    def handle_data(self, data: str) -> None:
        """Collect the text of a field."""
        if self._field is not None:
            self.fields[self._field] += data

    def handle_endtag(self, tag: str) -> None:
        """A field ends with its element."""
        self._field = None
