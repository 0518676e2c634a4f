"""How many page requests a second the site answers in its one process, with the request log on.

    python bench/site_throughput.py [--seconds 3] [--least 2500]

Eight keep-alive connections on loopback ask for `/product/7`, each waiting for its answer before it asks
again. Prints one line; exits with 1 when the site is slower than `--least`, or when its log misses a request.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

CONNECTIONS = 8
REQUEST = b"GET /product/7 HTTP/1.1\r\nHost: shop\r\n\r\n"
START_S = 20.0


def main() -> int:
    """Measure once and judge."""
    parser = argparse.ArgumentParser(description="Measure the site's throughput.")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--least", type=float, default=2500.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "site.jsonl"
        with running_site(log) as address:
            answered, took_s = load(address, options.seconds)
        logged = log.read_bytes().count(b'"outcome":"sent"')
    rate = answered / took_s
    print(
        f"{rate:.0f} page requests/s ({answered} in {took_s:.2f} s, {CONNECTIONS} connections,"
        f" {logged} logged, load1 {os.getloadavg()[0]:.2f})"
    )
    if logged < answered:
        print(f"the log misses {answered - logged} requests", file=sys.stderr)
        return 1
    if rate < options.least:
        print(f"slower than {options.least:.0f}/s: is the machine busy? try again", file=sys.stderr)
        return 1
    return 0


@contextmanager
def running_site(log: Path) -> Iterator[tuple[str, int]]:
    """A site of its own process on a free port, with its log on; ends it afterwards."""
    command = [sys.executable, "-m", "killtest_testsite", "--log", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = urlsplit(json.loads(process.stdout.readline())["url"])
        yield str(url.hostname), int(url.port or 0)
    finally:
        process.terminate()
        process.wait(START_S)


def load(address: tuple[str, int], seconds: float) -> tuple[int, float]:
    """Keep all connections busy for so long; returns the answers and the seconds they took."""
    connections = [socket.create_connection(address, START_S) for _ in range(CONNECTIONS)]
    size = answer_size(connections[0])
    started_s = time.perf_counter()
    for connection in connections:
        connection.sendall(REQUEST)
    answered = 0
    while (took_s := time.perf_counter() - started_s) < seconds:
        for connection in connections:
            read_answer(connection, size)
            connection.sendall(REQUEST)
        answered += CONNECTIONS
    for connection in connections:
        read_answer(connection, size)
        connection.close()
    return answered, took_s


def answer_size(connection: socket.socket) -> int:
    """The bytes of one answer, which are the same for each, so that the client need not parse them."""
    connection.sendall(REQUEST)
    answer = connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert length == len(body)
    return len(answer)


def read_answer(connection: socket.socket, size: int) -> None:
    """Read exactly one answer."""
    while size > 0:
        data = connection.recv(size)
        assert data, "the site closed a connection"
        size -= len(data)


if __name__ == "__main__":
    sys.exit(main())
