"""Triggers, holds, hang-ups, incarnations and broken answers of the site, over real sockets."""

from __future__ import annotations

import os
import signal
import socket

import pytest
from site_client import DEADLINE_S, SMALL, Scraper, site

# Triggers


def test_a_request_trigger_holds_exactly_the_nth_page_request() -> None:
    with site(*SMALL) as running:
        control = running.control
        control.ask("incarnation", number=4)
        control.ask("arm", kind="request", n=3)
        client = running.client()
        client.send("/robots.txt")
        client.read()
        first = control.event("first_request")
        client.get("/list/0")
        client.get("/list/1")
        client.send("/product/1")
        due = control.event("due")
        assert first["incarnation"] == due["incarnation"] == 4
        assert (due["n"], due["path"]) == (3, "/product/1")
        assert (due["client"], due["site"]) == (["127.0.0.1", client.port], list(running.address))
        assert [(r["seq"], r["held"]) for r in due["open"]] == [(due["seq"], True)]
        assert client.silent()
        control.ask("release")
        assert client.read()[0] == 200
        client.get("/product/2")
        assert [line["outcome"] for line in running.log()] == ["sent"] * 5


def test_a_release_opens_nothing_for_a_request_that_came_due_unheard() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        running.control.ask("arm", kind="request", n=1)
        client = running.client()
        client.send("/product/1")
        running.control.event("due")
        running.control.ask("release", due=0)  # sent for the freeze, before the request had come
        assert client.silent()
        running.control.ask("release", due=1)
        assert client.read()[0] == 200


def test_a_request_trigger_for_a_path_counts_that_path() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="request", n=2, path="/product/7")
        client = running.client()
        for path in ("/product/7", "/product/6", "/list/0"):
            client.get(path)
        client.send("/product/7")
        due = running.control.event("due")
        assert (due["path"], due["n"]) == ("/product/7", 4)
        running.control.ask("release")


def test_a_response_trigger_strikes_after_the_last_byte_and_before_anything_else() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="response", n=2)
        client, other = running.client(), running.client()
        client.get("/product/1")
        client.send("/product/2")
        due = running.control.event("due")
        assert client.read()[0] == 200
        assert (due["path"], due["n"], due["open"]) == ("/product/2", 2, [])
        other.send("/product/3")
        running.wait_until_open(1)
        assert other.silent()
        running.control.ask("release")
        other.read()
        log = running.log()
        assert [line["outcome"] for line in log] == ["sent"] * 3
        assert log[1]["sent_s"] <= due["t_s"] <= log[2]["held_s"] <= log[2]["sent_s"]


def test_a_response_trigger_for_a_path() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="response", n=2, path="/list/0")
        client = running.client()
        for path in ("/list/0", "/list/1", "/list/0"):
            client.get(path)
        assert running.control.event("due")["n"] == 3


def test_a_new_incarnation_and_disarm_forget_the_trigger() -> None:
    with site(*SMALL) as running:
        control = running.control
        control.ask("arm", kind="request", n=1)
        control.ask("incarnation", number=1)
        running.client().get("/list/0")
        control.ask("arm", kind="request", n=2)
        control.ask("disarm")
        running.client().get("/list/0")
        stats = control.ask("stats")
        assert (stats["in_incarnation"], stats["incarnation"], stats["requests"]) == (2, 1, 2)
        assert [line["held_s"] for line in running.log()] == [None, None]


def test_a_request_that_is_held_already_strikes_as_soon_as_it_is_armed() -> None:
    with site(*SMALL) as running:
        control = running.control
        control.ask("arm", kind="request", n=1)
        running.hold("/product/1")
        control.event("due")
        running.hold("/product/2")
        running.wait_until_open(2)
        control.ask("arm", kind="request", n=2)
        assert control.event("due")["path"] == "/product/2"


# Holds


def test_a_frozen_site_sends_no_byte_on_any_connection() -> None:
    with site(*SMALL, "--latency-ms", "20") as running:
        clients = [running.hold(f"/product/{n}") for n in range(1, 6)]
        running.wait_until_open(5)
        frozen = running.control.ask("freeze")["open"]
        assert len(frozen) == 5
        assert all(request["held"] for request in frozen)
        late = [running.hold(path) for path in ("/list/0", "/image/1", "/nothing", "/")]
        junk = running.client()
        junk.sock.sendall(b"junk\r\n\r\n")
        running.wait_until_open(9)
        assert all(client.silent(0.03) for client in [*clients, *late, junk])
        running.control.ask("release")
        assert [client.read()[0] for client in [*clients, *late, junk]] == [200] * 7 + [404, 302, 400]
        assert all(line["held_s"] is not None for line in running.log())


def test_200_requests_are_held_at_once_and_released() -> None:
    with site() as running:
        running.control.ask("freeze")
        clients = [running.hold(f"/product/{n}") for n in range(1, 201)]
        running.wait_until_open(200)
        running.control.ask("release")
        assert [client.read()[0] for client in clients] == [200] * 200
        assert running.control.ask("stats")["requests"] == 200


def test_a_hold_that_nobody_releases_expires() -> None:
    with site(*SMALL, "--hold-s", "0.1") as running:
        running.control.ask("freeze")
        client = running.hold("/product/1")
        running.control.event("hold_expired")
        assert client.read()[0] == 200


def test_an_answer_that_was_held_shows_the_bump_that_came_meanwhile() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="request", n=1)
        client = running.hold("/product/7")
        running.control.event("due")
        assert running.control.ask("bump", path="/product/7")["version"] == 1
        running.control.ask("release")
        html = client.read()[2].decode()
        truth = running.control.ask("truth")["rows"][6]["versions"]
        assert Scraper(html).fields["title"] == truth[1]["title"] != truth[0]["title"]
        assert running.log()[-1]["version"] == 1


def test_latency_delays_every_answer() -> None:
    with site(*SMALL, "--latency-ms", "30") as running:
        running.client().get("/product/1")
        line = running.log()[0]
        assert line["sent_s"] - line["arrived_s"] >= 0.03


# Hang-ups


def test_a_client_that_hangs_up_while_held_is_gone_and_its_request_ends_as_held() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        client = running.hold("/product/1")
        seq = running.wait_until_open(1)[0]["seq"]
        client.close()
        assert running.control.event("gone")["seq"] == seq
        line = running.log()[0]
        assert (line["outcome"], line["bytes"], line["status"]) == ("held", 0, None)
        assert line["key"] == "SKU-00001"
        assert line["held_s"] is not None


def test_bytes_waiting_behind_a_held_request_do_not_hide_the_hang_up() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        client = running.hold("/product/1")
        client.send("/product/2")
        running.wait_until_open(1)
        client.close()
        running.control.event("gone")
        running.control.ask("release")
        assert [(line["path"], line["outcome"]) for line in running.log()] == [("/product/1", "held")]


def test_a_client_that_hangs_up_before_its_answer_makes_it_broken() -> None:
    with site(*SMALL, "--latency-ms", "10000") as running:
        client = running.hold("/product/1")
        running.wait_until_open(1)
        client.close()
        running.wait_until_open(0)
        line = running.log()[0]
        assert (line["outcome"], line["bytes"], line["held_s"]) == ("broken", 0, None)


def test_a_request_that_was_sent_and_left_is_counted_and_broken() -> None:
    with site(*SMALL, "--latency-ms", "200") as running:
        client = running.client()
        client.send("/product/1")
        running.wait_until_open(1)
        client.close()
        running.wait_until_open(0)
        assert [line["outcome"] for line in running.log()] == ["broken"]


def test_a_client_that_closes_its_sending_side_only_gets_its_answer() -> None:
    with site(*SMALL) as running:
        client = running.client()
        client.send("/product/1")
        client.sock.shutdown(socket.SHUT_WR)
        assert b"SKU-00001" in client.rest()
        assert [line["outcome"] for line in running.log()] == ["sent"]


def test_a_half_closed_client_that_dies_while_held_is_held() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        client = running.hold("/product/1")
        running.wait_until_open(1)
        client.sock.shutdown(socket.SHUT_WR)
        assert [one["path"] for one in running.control.ask("open")["open"]] == ["/product/1"]
        client.close()
        running.control.ask("release")
        assert [line["outcome"] for line in running.log()] == ["held"]


def test_the_harness_learns_of_hang_ups_that_come_together_with_the_release() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        clients = [running.hold(f"/product/{n}") for n in range(1, 21)]
        running.wait_until_open(20)
        # Stopped, so that it finds the hang-ups and the release at the same moment.
        running.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, running.process.pid, os.WSTOPPED)
        for client in clients:
            client.close()
        released = running.control.send("release")
        running.process.send_signal(signal.SIGCONT)
        assert running.control.reply(released)["ok"]
        assert {line["outcome"] for line in running.log()} == {"held"}


# Incarnations and the fence


def test_requests_over_a_connection_of_an_older_incarnation_are_late_and_not_counted_here() -> None:
    with site(*SMALL) as running:
        old = running.client()
        old.get("/list/0")
        assert running.control.ask("incarnation", number=1)["requests"] == 1
        running.control.ask("arm", kind="request", n=2)
        old.get("/list/1")
        new = running.client()
        new.get("/list/2")
        new.send("/product/1")
        assert running.control.event("due")["path"] == "/product/1"
        running.control.ask("release")
        new.read()
        found = [(line["incarnation"], line["n"], line["late"]) for line in running.log()]
        assert found == [(0, 1, False), (0, 2, True), (1, 1, False), (1, 2, False)]


def test_the_fence_waits_for_dead_connections_and_names_the_living() -> None:
    with site(*SMALL) as running:
        clients = [running.client() for _ in range(20)]
        for client in clients[1:]:
            client.send("/product/1")
            client.close()
        reply = running.control.ask("fence", deadline_s=DEADLINE_S)
        assert (reply["passed"], reply["still_open"]) == (True, [1])
        assert running.control.ask("stats")["requests"] == len(running.log()) == 19


def test_a_half_closed_client_is_alive_for_the_fence() -> None:
    with site(*SMALL) as running:
        running.control.ask("freeze")
        waiting = running.hold("/product/1")
        running.wait_until_open(1)
        waiting.sock.shutdown(socket.SHUT_WR)
        reply = running.control.ask("fence", deadline_s=DEADLINE_S)
        assert (reply["passed"], reply["still_open"]) == (True, [1])


# Misbehaviour


def test_a_truncated_answer_ends_inside_its_body() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/image/1", kind="truncate", at_bytes=4000)
        client = running.hold("/image/1")
        head, _, body = client.rest().partition(b"\r\n\r\n")
        assert b"Content-Length: 6966" in head
        assert len(body) == 4000
        assert running.log()[0]["outcome"] == "broken"
        assert len(running.hold("/image/1").read()[2]) == 6966


def test_a_reset_breaks_the_connection() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/product/1", kind="reset")
        with pytest.raises(ConnectionResetError):
            running.hold("/product/1").rest()
        line = running.log()[0]
        assert (line["outcome"], line["bytes"], line["status"]) == ("broken", 0, None)
