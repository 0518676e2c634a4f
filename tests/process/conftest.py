"""What the process tests share: with and without namespaces, sleepers that can be told apart, a queue and a crawl."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from killtest.process import isolation

if TYPE_CHECKING:
    from queue_run import Crawl, Server


@pytest.fixture(params=["namespaces", "none"])
def isolated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the test in namespaces and without; a machine without them runs the second alone, and says so."""
    isolation.prefix.cache_clear()
    if request.param == "none":
        monkeypatch.setenv("KILLTEST_ISOLATION", "none")
    elif not isolation.prefix():
        pytest.skip("this machine allows no namespaces (unshare failed)")
    yield str(request.param)
    isolation.prefix.cache_clear()


@pytest.fixture
def span(tmp_path: Path) -> str:
    """A number of seconds to sleep that no other test sleeps, so that its sleepers can be told apart."""
    return str(600 + zlib.crc32(str(tmp_path).encode()) / 1e10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A queue server for the crawler reload_queue."""
    from queue_run import Server  # it imports Django, which few of these tests need

    running = Server(tmp_path / "queue")
    yield running
    running.close()


@pytest.fixture
def crawl(tmp_path: Path, server: Server) -> Crawl:
    """A copy of that crawler with its data, on the server."""
    from queue_run import Crawl

    return Crawl(tmp_path, server)


@pytest.fixture
def hold() -> Iterator[threading.Event]:
    """Set by the test to let a held page go out, and at its end."""
    event = threading.Event()
    yield event
    event.set()
