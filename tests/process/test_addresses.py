"""A site on several addresses: one set of books, one fence, and owners told apart by both ends of a connection."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from killtest.conduct import trial
from killtest.judge import verdict
from killtest.judge.evidence import Evidence
from killtest.plan.campaign import Planned
from killtest.plan.manifest import Subject
from killtest.plan.schedule import Schedule
from killtest.process import socket_owner
from killtest.process.process_tree import identify
from killtest.process.socket_owner import Ends
from killtest_testsite import sockets
from msgspec.structs import replace
from site_client import DEADLINE_S, SMALL, site
from subjects import SMALL as SMALL_NEEDS
from subjects import crawler, program

SECOND = "127.0.0.2"

# Asks for a page at a host of the shop, from a port of its own choice where it is given one.
ASK = """
import http.client, json, os, sys, threading
from urllib.parse import urlsplit
port = urlsplit(os.environ["KILLTEST_SITE_URL"]).port
def ask(host, path):
    connection = http.client.HTTPConnection(host, port, timeout=60)
    connection.request("GET", path)
    return connection.getresponse().read()
"""


def run(who: Subject, *faults: str, tmp_path: Path, addresses: int = 2, latency_ms: float = 0) -> Evidence:
    needs = replace(SMALL_NEEDS, addresses=addresses, latency_ms=latency_ms)
    return trial.run(Planned(who, Schedule("s", faults)), needs, tmp_path / "trial")


def stop(process: subprocess.Popen[str]) -> None:
    """Stop a process, and return once it stands."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def lines(tmp_path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (tmp_path / "trial" / "site.jsonl").read_text().splitlines()]


# One set of books


def test_requests_to_all_addresses_are_counted_together(isolated: str, tmp_path: Path) -> None:
    spread = """
    import itertools
    from urllib.parse import urlsplit
    hosts = itertools.cycle(f"127.0.0.{n}" for n in range(1, 5))
    def get(path):
        with urllib.request.urlopen(f"http://{next(hosts)}:{urlsplit(site).port}{path}") as answer:
            return answer.read().decode()
    """
    evidence = run(crawler(tmp_path, spread), tmp_path=tmp_path, addresses=4)
    answer = verdict.judge(evidence)
    assert answer.outcome == "PASS"
    assert answer.traffic is not None
    assert answer.traffic.requests == 8
    found = lines(tmp_path)
    assert [line["n"] for line in found] == list(range(1, 9))
    assert [line.get("host") for line in found] == [None, "127.0.0.2", "127.0.0.3", "127.0.0.4"] * 2


def test_kill_takes_requests_in_flight_on_two_addresses(isolated: str, tmp_path: Path) -> None:
    # The first answer waits longer than any machine needs to send the second request.
    text = """
    if os.environ["KILLTEST_INCARNATION"] == "0":
        first = threading.Thread(target=ask, args=("127.0.0.1", "/product/1"))
        first.start()
        ask("127.0.0.2", "/product/2")
    """
    who = program(tmp_path, ASK + "\n".join(line[4:] for line in text.splitlines()))
    evidence = run(who, "request:2 KILL", tmp_path=tmp_path, latency_ms=30_000)
    (fault,) = evidence.course.faults
    assert (fault.status, set(fault.in_flight)) == ("struck", {"/product/1", "/product/2"})
    found = sorted(lines(tmp_path), key=lambda line: str(line["path"]))
    assert [(line["path"], line.get("host"), line["outcome"]) for line in found] == [
        ("/product/1", None, "held"),
        ("/product/2", SECOND, "held"),
    ]
    assert evidence.course.incarnations[0].exit == -9


def test_a_frozen_site_sends_no_byte_on_any_address() -> None:
    with site(*SMALL, "--addresses", "2") as running:
        running.control.ask("arm", kind="request", n=2)
        running.client().get("/product/1")
        held = running.hold("/product/2", SECOND)
        due = running.control.event("due")
        assert (due["n"], due["client"], due["site"]) == (
            2,
            ["127.0.0.1", held.port],
            [SECOND, running.address[1]],
        )
        other = running.hold("/product/3")
        running.wait_until_open(2)
        assert held.silent()
        assert other.silent()
        running.control.ask("release")
        assert [client.read()[0] for client in (held, other)] == [200, 200]


# The fence


def test_fence_waits_for_the_accept_queue_of_every_address() -> None:
    with site(*SMALL, "--addresses", "2") as running:
        stop(running.process)
        # More than it accepts in several rounds of its loop, so that a fence elsewhere would be through before.
        for _ in range(350):
            running.client(SECOND)
        asked = running.control.send("fence", deadline_s=DEADLINE_S)
        running.process.send_signal(signal.SIGCONT)
        reply = running.control.reply(asked)
        assert (reply["passed"], reply["still_open"]) == (True, list(range(1, 351)))


def test_fence_waits_for_dead_connections_of_every_address() -> None:
    with site(*SMALL, "--addresses", "2") as running:
        clients = [running.client(host) for host in ("127.0.0.1", SECOND) * 10]
        for client in clients[1:]:
            client.send("/product/1")
            client.close()
        reply = running.control.ask("fence", deadline_s=DEADLINE_S)
        assert (reply["passed"], len(reply["still_open"])) == (True, 1)
        assert running.control.ask("stats")["requests"] == len(running.log()) == 19


# Whose connection it is


@contextmanager
def twins(family: socket.AddressFamily = socket.AF_INET) -> Iterator[list[tuple[socket.socket, Ends]]]:
    """Two clients with the same port, one at 127.0.0.1 and one at 127.0.0.2, whose port is the same as well."""
    prefix = "::ffff:" if family == socket.AF_INET6 else ""
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with socket.create_server((SECOND, port)):
            found: list[tuple[socket.socket, Ends]] = []
            own = 0
            for host in ("127.0.0.1", SECOND):
                client = socket.socket(family)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                client.bind((f"{prefix}127.0.0.1", own))
                own = client.getsockname()[1]
                client.connect((prefix + host, port))
                found.append((client, Ends(("127.0.0.1", own), (host, port))))
            try:
                yield found
            finally:
                for client, _ in found:
                    client.close()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_both_ends_tell_a_connection(family: socket.AddressFamily) -> None:
    with twins(family) as found:
        for client, ends in found:
            inode = str(os.fstat(client.fileno()).st_ino)
            assert sockets.inode(ends.client, ends.site) == socket_owner.inode(ends) == inode
        (_, ends), _ = found
        assert sockets.inode(("127.0.0.3", ends.client[1]), ends.site) is None
        assert socket_owner.owner(replace(ends, site=("127.0.0.3", ends.site[1])), [identify(os.getpid())]) is None


def test_owner_is_told_from_a_worker_with_the_same_port_at_another_address(isolated: str, tmp_path: Path) -> None:
    text = """
    def work(host, pages):
        client = http.client.HTTPConnection(host, port, timeout=60)
        client.sock = socket.socket()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.sock.bind(("127.0.0.1", int(sys.stdin.readline())))
        client.sock.connect((host, port))
        print(client.sock.getsockname()[1], flush=True)
        sys.stdin.readline()
        for page in pages:
            client.request("GET", f"/product/{page}")
            sku = re.search(r'class="sku">([^<]+)<', client.getresponse().read().decode())[1]
            with open("out.jsonl", "a") as out:
                out.write(json.dumps({"sku": sku}) + "\\n")
        print("done", flush=True)
        sys.stdin.readline()  # connected as long as the other one works
    def tell(worker, word):
        try:
            worker.stdin.write(f"{word}\\n")
            worker.stdin.flush()
        except BrokenPipeError:
            pass
    if len(sys.argv) > 1:
        work(sys.argv[1], map(int, sys.argv[2:]))
    else:
        first, second = (
            subprocess.Popen(
                [sys.executable, __file__, host, *pages], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for host, pages in (("127.0.0.1", "135"), ("127.0.0.2", "246"))
        )
        own = "0"
        for worker in (first, second):
            tell(worker, own)
            own = worker.stdout.readline().strip()
        for word in ("begin", "end"):
            for worker in (first, second):
                tell(worker, word)
            [worker.stdout.readline() for worker in (first, second)]
        print([first.wait(), second.wait()], flush=True)
    """
    head = "import http.client, json, os, re, socket, subprocess, sys\nfrom urllib.parse import urlsplit\n"
    head += 'port = urlsplit(os.environ["KILLTEST_SITE_URL"]).port\n'
    who = program(tmp_path, head + "\n".join(line[4:] for line in text.splitlines()))
    for page, codes in (("1", "[-9, 0]"), ("2", "[0, -9]")):
        folder = tmp_path / page
        folder.mkdir()
        evidence = run(who, f"request:/product/{page} KILL scope=owner", tmp_path=folder)
        assert (folder / "trial" / "incarnation-0.stdout").read_text() == f"{codes}\n"
        assert [fault.status for fault in evidence.course.faults] == ["struck"]


def test_elder_is_told_from_a_newer_process_with_the_same_port_at_another_address() -> None:
    program_text = (
        "import socket, sys\n"
        "here, port = map(int, sys.stdin.readline().split())\n"
        "one = socket.socket()\n"
        "one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "one.bind(('127.0.0.1', here))\n"
        "one.connect(('127.0.0.2', port))\n"
        "one.sendall(b'GET /product/1 HTTP/1.1\\r\\nHost: shop\\r\\nConnection: close\\r\\n\\r\\n')\n"
        "print('asked', flush=True)\n"
        "while one.recv(4096): pass\n"
    )
    with site(*SMALL, "--addresses", "2") as running, socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("127.0.0.1", 0))
        words, pipe = [sys.executable, "-c", program_text], subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as elder:
            face = identify(elder.pid)
            assert face is not None
            assert elder.stdin is not None
            assert elder.stdout is not None
            running.control.ask("incarnation", number=1)
            named = [{"pid": elder.pid, "started": face.started, "incarnation": 0}]
            running.control.ask("elders", processes=named)
            stop(running.process)  # so that it finds both connections there when it accepts either
            own.connect(running.address)
            own.sendall(b"GET /product/2 HTTP/1.1\r\nHost: shop\r\n\r\n")
            elder.stdin.write(f"{own.getsockname()[1]} {running.address[1]}\n")
            elder.stdin.close()
            assert elder.stdout.readline() == "asked\n"
            running.process.send_signal(signal.SIGCONT)
            assert elder.wait(DEADLINE_S) == 0
        found = {line["path"]: (line["incarnation"], line["late"]) for line in running.log()}
        assert found == {"/product/1": (0, True), "/product/2": (1, False)}
