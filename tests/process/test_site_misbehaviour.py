"""Each kind of the site's misbehaviour over real sockets: what comes, and what the log says of it."""

from __future__ import annotations

import pytest
from site_client import SMALL, site


def test_an_error_page_comes_with_its_status_and_then_the_page() -> None:
    with site(*SMALL) as running:
        ask = running.control.ask
        ask("misbehave", path="/product/6", kind="status", status=503, retry_after_s=3, times=2, name="two errors")
        client = running.client()
        for _ in range(2):
            client.send("/product/6")
            status, headers, _ = client.read()
            assert (status, headers["retry-after"]) == (503, "3")
        assert "SKU-00006" in client.get("/product/6")
        first, second, third = running.log()
        assert (first["status"], first["outcome"], first["kind"], first["n"]) == (503, "sent", "page", 1)
        assert first["misbehaviour"] == second["misbehaviour"] == ["two errors"]
        assert (third["status"], "misbehaviour" in third) == (200, False)
        assert running.control.event("misbehaved")["seq"] == 1


def test_an_error_page_without_a_body_answers_head() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/6", kind="status", status=500)
        client = running.client()
        client.send("/product/6", "HEAD")
        assert client.read(has_body=False)[0] == 500
        assert "SKU-00006" in client.get("/product/6")


def test_a_redirect_leads_elsewhere_and_counts_as_a_page_request() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/6", kind="redirect", to="/product/7", times=None)
        client = running.client()
        for _ in range(2):
            client.send("/product/6")
            status, headers, _ = client.read()
            assert (status, headers["location"]) == (302, "/product/7")
        line = running.log()[1]
        assert (line["status"], line["outcome"], line["kind"], line["n"]) == (302, "sent", "page", 2)


def test_a_slow_page_holds_up_nobody_else() -> None:
    with site(*SMALL) as running:
        # Far longer than any deadline of a test: had the other to wait for it, the test would fail.
        running.control.ask("misbehave", path="/product/6", kind="latency", delay_s=[3000, 3000], times=None)
        running.hold("/product/6")
        running.wait_until_open(1)
        running.client().get("/product/7")
        assert [line["outcome"] for line in running.log()] == ["sent", "open"]
        assert running.log()[-1]["misbehaviour"] == ["latency"]


def test_a_page_that_is_late_comes_in_the_end() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/*", kind="latency", delay_s=[0.2, 0.4])
        client = running.client()
        assert "SKU-00006" in client.get("/product/6")
        line = running.log()[0]
        assert (line["status"], line["outcome"], line["misbehaviour"]) == (200, "sent", ["latency"])
        assert line["sent_s"] - line["arrived_s"] >= 0.2


def test_a_slow_body_is_whole_in_the_end_and_broken_for_who_leaves() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/6", kind="slow", bytes_per_s=10_000)
        running.control.ask("misbehave", path="/product/7", kind="slow", bytes_per_s=1)
        assert "SKU-00006" in running.client().get("/product/6")
        leaving = running.hold("/product/7")
        assert leaving.sock.recv(12) == b"HTTP/1.1 200"
        leaving.close()
        running.wait_until_open(0)
        whole, broken = running.log()
        assert (whole["outcome"], whole["misbehaviour"]) == ("sent", ["slow"])
        assert (broken["outcome"], broken["status"]) == ("broken", 200)


def test_a_frozen_site_sends_nothing_of_a_slow_body() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/6", kind="slow", bytes_per_s=1000)
        client = running.hold("/product/6")
        client.sock.recv(12)
        running.control.ask("freeze")
        client.sock.recv(100_000)
        assert client.silent()
        running.control.ask("release")
        assert client.sock.recv(1)


def test_a_misbehaviour_that_began_while_a_request_was_held_is_met_by_it() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="request", n=1)
        client = running.hold("/product/6")
        running.control.event("due")
        running.control.ask("misbehave", path="/product/6", kind="status", status=429)
        running.control.ask("release")
        assert client.read()[0] == 429


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"kind": "status"}, "status needs status"),
        ({"kind": "status", "status": 200}, "400"),
        ({"kind": "slow", "bytes_per_s": 0}, ">= 1"),
        ({"kind": "redirect", "to": "//a b"}, "regex"),
        ({"kind": "tarpit"}, "tarpit"),
    ],
)
def test_what_makes_no_misbehaviour_is_refused(fields: dict[str, object], complaint: str) -> None:
    with site(*SMALL) as running:
        reply = running.control.reply(running.control.send("misbehave", path="/product/6", **fields))
        assert not reply["ok"]
        assert complaint in reply["error"]
