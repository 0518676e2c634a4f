"""Junk on the port and on the control channel of the site."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

import pytest
from site_client import SMALL, Control, crawl, site

# Abuse


JUNK = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /list/0\r\n\r\n",
    b"GET /list/0 HTTP/9.9\r\n\r\n",
    b"GET /list/0 HTTP/1\r\n\r\n",
    b"GET /list/0 HTTP/1.1\r\nContent-Length: minus\r\n\r\n",
    b"GET /list/0 HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    b"GET /list/0 HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"\r\n" * 3,
]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_junk_is_refused_and_not_counted(junk: bytes) -> None:
    with site(*SMALL) as running:
        client = running.client()
        client.sock.sendall(junk)
        with suppress(OSError):  # the site may have hung up already
            client.sock.shutdown(socket.SHUT_WR)
            client.rest()
        running.client().get("/list/0")
        stats = running.control.ask("stats")
        assert (stats["requests"], stats["other"]) == (1, 0)


def test_half_open_and_resetting_clients_do_no_harm() -> None:
    with site(*SMALL) as running:
        for _ in range(50):
            running.client().sock.sendall(b"GET /product/1 HTTP/1.1\r\nHost:")
            resetting = running.hold("/product/1")
            resetting.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            resetting.close()
        assert len(crawl(running.client())) == 33


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"junk", "malformed"),
        (b"[]", "Expected"),
        (b'{"id":1}', "do"),
        (b'{"id":1,"do":"explode"}', "explode"),
        (b'{"id":1,"do":"arm","kind":"request","n":0}', ">= 1"),
        (b'{"id":1,"do":"arm","kind":"request","n":1,"pth":"/"}', "pth"),
        (b'{"id":1,"do":"bump","path":"/list/0"}', "shows no product"),
        (b'{"id":1,"do":"misbehave","path":"/","kind":"truncate"}', "at_bytes"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_a_bad_line_on_the_control_channel_is_refused_with_a_reason(line: bytes, word: str) -> None:
    with site(*SMALL) as running:
        running.control.send_raw(line + b"\n")
        reply = running.control.reply(1 if line.startswith(b'{"id":1') else None)
        assert reply["ok"] is False
        assert word in reply["error"]
        running.control.ask("stats")


def test_a_second_control_client_is_turned_away_and_the_next_one_is_welcome() -> None:
    with site(*SMALL) as running:
        second = Control(running.control_path)
        assert "another client" in second.reply(None)["error"]
        second.close()
        running.control.close()
        running.control = third = Control(running.control_path)
        third.ask("stats")
