"""The site's pictures, webhook and partial answers as a client meets them, over real sockets."""

from __future__ import annotations

import base64
import zlib
from hashlib import sha256
from typing import Any

import pytest
from site_client import SMALL, Client, SiteProcess, site

SIZE_BYTES = 6966
BODY = '{"sku":"SKU-00007","title":"Größe"}'

Answer = tuple[int, dict[str, str], bytes]


def ask(client: Client, path: str, *headers: str, has_body: bool = True) -> Answer:
    client.send(path, headers="".join(f"{line}\r\n" for line in headers))
    return client.read(has_body)


def post(client: Client, body: str = BODY, key: str | None = None, path: str = "/hook") -> Answer:
    send_hook(client, body, key, path)
    return client.read()


def send_hook(client: Client, body: str = BODY, key: str | None = None, path: str = "/hook") -> None:
    data = body.encode()
    name = "" if key is None else f"Idempotency-Key: {key}\r\n"
    client.sock.sendall(
        f"POST {path} HTTP/1.1\r\nHost: shop\r\nContent-Length: {len(data)}\r\n{name}\r\n".encode() + data
    )


def hooks(running: SiteProcess) -> list[dict[str, Any] | None]:
    return [line.get("hook") for line in running.log() if line["path"] == "/hook"]


# Pictures


def test_a_range_is_a_piece_of_the_picture_and_the_pieces_make_the_whole() -> None:
    with site(*SMALL) as running:
        client = running.client()
        _, headers, whole = ask(client, "/image/7")
        assert (headers["accept-ranges"], len(whole)) == ("bytes", SIZE_BYTES)
        status, headers, rest = ask(client, "/image/7", "Range: bytes=4000-")
        assert (status, headers["content-range"]) == (206, f"bytes 4000-6965/{SIZE_BYTES}")
        assert whole[:4000] + rest == whole
        assert ask(client, "/image/7", "Range: bytes=-10")[2] == whole[-10:]
        status, headers, _ = ask(client, "/image/7", f"Range: bytes={SIZE_BYTES}-")
        assert (status, headers["content-range"]) == (416, f"bytes */{SIZE_BYTES}")
        assert [line["status"] for line in running.log()] == [200, 206, 206, 416]


@pytest.mark.parametrize("ranges", ["items=0-5", "bytes=0-1,4-5"])
def test_ranges_of_another_unit_or_several_are_ignored(ranges: str) -> None:
    with site(*SMALL) as running:
        status, _, body = ask(running.client(), "/image/7", f"Range: {ranges}")
        assert (status, len(body)) == (200, SIZE_BYTES)


def test_a_head_knows_no_ranges() -> None:
    with site(*SMALL) as running:
        client = running.client()
        client.sock.sendall(b"HEAD /image/7 HTTP/1.1\r\nHost: shop\r\nRange: bytes=0-9\r\n\r\n")
        status, headers, _ = client.read(False)
        assert (status, headers["content-length"]) == (200, str(SIZE_BYTES))


def test_an_etag_is_the_same_as_long_as_the_picture_is() -> None:
    with site(*SMALL) as running:
        client = running.client()
        tag = ask(client, "/image/7")[1]["etag"]
        assert tag.startswith('"')
        assert tag != ask(client, "/image/8")[1]["etag"]
        status, headers, _ = ask(client, "/image/7", f"If-None-Match: {tag}", has_body=False)
        assert (status, headers["etag"]) == (304, tag)
        running.control.ask("bump", path="/image/7")
        status, headers, _ = ask(client, "/image/7", f"If-None-Match: {tag}")
        assert status == 200
        assert headers["etag"] != tag


def test_if_range_gives_the_rest_of_the_same_picture_or_the_whole_of_the_new_one() -> None:
    with site(*SMALL) as running:
        client = running.client()
        tag = ask(client, "/image/7")[1]["etag"]
        wanted = ("Range: bytes=4000-", f"If-Range: {tag}")
        assert ask(client, "/image/7", *wanted)[0] == 206
        running.control.ask("bump", path="/image/7")
        status, _, body = ask(client, "/image/7", *wanted)
        assert (status, len(body)) == (200, SIZE_BYTES)
        assert [(line["key"], line["version"]) for line in running.log()] == [
            ("SKU-00007", 0),
            ("SKU-00007", 0),
            ("SKU-00007", 1),
        ]


# The webhook


def test_a_delivery_is_accepted_and_logged_with_its_body() -> None:
    with site(*SMALL) as running:
        status, headers, answer = post(running.client(), key='"abc"')
        assert (status, headers["content-type"], answer) == (202, "application/json", b'{"delivery":1}')
        digest = sha256(BODY.encode()).hexdigest()
        assert hooks(running) == [{"sha256": digest, "idempotency_key": "abc", "body": BODY}]
        stats = running.control.ask("stats")
        assert (stats["requests"], stats["other"]) == (0, 1)


def test_a_key_seen_before_gets_the_first_answer_again_at_any_address() -> None:
    with site(*SMALL, "--addresses", "2") as running:
        first = post(running.client(), key="a")
        again = post(running.client("127.0.0.2"), key="a")
        assert (first[0], first[2]) == (again[0], again[2])
        assert "idempotent-replayed" not in first[1]
        assert again[1]["idempotent-replayed"] == "true"
        assert post(running.client(), key="b")[2] == post(running.client(), key="b")[2] == b'{"delivery":2}'
        assert post(running.client())[2] != post(running.client())[2], "without a key each is one more"


def test_the_same_key_with_another_body_is_422() -> None:
    with site(*SMALL) as running:
        client = running.client()
        post(client, key="a")
        assert post(client, '{"sku":"SKU-00008"}', key="a")[0] == 422
        assert post(client, key="a")[0] == 202


@pytest.mark.parametrize("body", ["", "{", "[1]", "7", '"text"'])
def test_what_is_no_json_object_is_400_and_logged_without_its_body(body: str) -> None:
    with site(*SMALL) as running:
        assert post(running.client(), body)[0] == 400
        assert hooks(running) == [{"sha256": sha256(body.encode()).hexdigest()}]


def test_more_than_64_kib_is_413() -> None:
    with site(*SMALL) as running:
        frame = len('{"a":""}')
        client = running.client()
        assert post(client, '{"a":"' + "x" * (65536 - frame) + '"}')[0] == 202
        assert post(client, '{"a":"' + "x" * (65537 - frame) + '"}')[0] == 413
        assert post(client)[0] == 202, "the connection goes on"


def test_only_post_is_a_delivery() -> None:
    with site(*SMALL) as running:
        assert ask(running.client(), "/hook")[0] == 405
        assert hooks(running) == [None]


def test_a_body_cut_off_by_its_sender_is_no_delivery() -> None:
    with site(*SMALL) as running:
        client = running.client()
        client.sock.sendall(b"POST /hook HTTP/1.1\r\nHost: shop\r\nContent-Length: 100\r\n\r\n{")
        client.close()
        running.control.ask("fence", deadline_s=20)
        assert [(line["outcome"], line.get("hook")) for line in running.log()] == [("broken", None)]


def test_a_delivery_whose_answer_is_held_has_been_made() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="request", path="/hook", n=2)
        client = running.client()
        assert post(client, key="a")[0] == 202
        send_hook(client, key="b")
        due = running.control.event("due")
        assert (due["path"], due["n"]) == ("/hook", None)
        client.close()
        assert running.control.event("gone")["seq"] == due["seq"]
        running.control.ask("release")
        last = running.log()[-1]
        assert (last["outcome"], last["hook"]["idempotency_key"]) == ("held", "b")
        assert post(running.client(), key="b")[1]["idempotent-replayed"] == "true"


def test_an_error_page_in_place_of_the_answer_leaves_the_key_free() -> None:
    with site(*SMALL) as running:
        running.control.ask("misbehave", path="/hook", kind="status", status=503)
        client = running.client()
        statuses = [post(client, key="a")[0], post(client, key="a")[0]]
        assert statuses == [503, 202]
        assert [line["status"] for line in running.log()] == [503, 202]
        running.control.ask("misbehave", path="/hook", kind="truncate", at_bytes=1)
        send_hook(client, key="b")
        assert client.rest().endswith(b"\r\n\r\n{")
        assert post(running.client(), key="b")[1]["idempotent-replayed"] == "true"


def test_an_error_page_in_place_of_a_repeated_answer_leaves_the_first_in_force() -> None:
    with site(*SMALL) as running:
        client = running.client()
        first = post(client, key="a")[2]
        running.control.ask("misbehave", path="/hook", kind="status", status=503)
        assert post(client, key="a")[0] == 503
        _, headers, again = post(client, key="a")
        assert (headers.get("idempotent-replayed"), again) == ("true", first)


def test_keys_are_forgotten_when_another_trial_begins() -> None:
    with site(*SMALL) as running:
        post(running.client(), key="a")
        running.control.ask("forget_keys")
        status, headers, _ = post(running.client(), '{"another":1}', key="a")
        assert (status, "idempotent-replayed" in headers) == (202, False)


# Partial answers


@pytest.mark.parametrize(("path", "n"), [("/image/7", None), ("/product/7", 1)])
def test_partial_stops_inside_the_body_and_goes_on_at_the_release(path: str, n: int | None) -> None:
    with site(*SMALL) as running:
        whole = ask(running.client(), path)[2]
        running.control.ask("incarnation", number=1)
        running.control.ask("arm", kind="partial", path=path, n=1, at_bytes=400)
        client = running.hold(path)
        due = running.control.event("due")
        assert (due["path"], due["n"], [one["path"] for one in due["open"]]) == (path, n, [path])
        client.sock.settimeout(20)
        received = b""
        while len(received.partition(b"\r\n\r\n")[2]) < 400:
            received += client.sock.recv(65536)
        assert client.silent()
        assert received.partition(b"\r\n\r\n")[2] == whole[:400]
        running.control.ask("release")
        assert client._file.read(len(whole) - 400) == whole[400:]
        assert [line["outcome"] for line in running.log()] == ["sent", "sent"]


def test_partial_counts_requests_for_its_path_and_strikes_once() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="partial", path="/image/7", n=2, at_bytes=0)
        client = running.client()
        assert ask(client, "/image/7")[0] == ask(client, "/image/8")[0] == 200
        client.send("/image/7")
        running.control.event("due")
        client.close()
        running.control.event("gone")
        running.control.ask("release")
        assert [line["outcome"] for line in running.log()] == ["sent", "sent", "broken"]
        assert ask(running.client(), "/image/7")[0] == 200


def test_an_answer_shorter_than_that_is_not_stopped() -> None:
    with site(*SMALL) as running:
        running.control.ask("arm", kind="partial", path="/image/7", n=1, at_bytes=SIZE_BYTES + 1)
        assert ask(running.client(), "/image/7")[0] == 200
        assert running.log()[0]["outcome"] == "sent"


def test_partial_without_a_path_or_a_length_is_refused() -> None:
    with site(*SMALL) as running:
        for arguments in ({"n": 1, "at_bytes": 3}, {"n": 1, "path": "/image/7"}):
            reply = running.control.reply(running.control.send("arm", kind="partial", **arguments))
            assert "partial needs path and at_bytes" in reply["error"]


# The truth


@pytest.mark.parametrize("shape", ["pages", "two_page"])
def test_the_truth_with_effects_knows_every_page_and_picture_of_every_version(shape: str) -> None:
    with site(*SMALL, "--shape", shape) as running:
        client = running.client()
        before = {f"/{kind}/3": ask(client, f"/{kind}/3")[2] for kind in ("product", "view", "image")}
        running.control.ask("bump", path="/product/3")
        truth = running.control.ask("truth", effects=True)
        assert truth["lists"] == {f"/list/{n}": sha256(ask(client, f"/list/{n}")[2]).hexdigest() for n in range(3)}
        row = truth["rows"][2]
        for version, served in enumerate((before, {path: ask(client, path)[2] for path in before})):
            pages = {path: sha256(served[path]).hexdigest() for path in row["pages"]}
            assert row["page_sha256"][version] == pages
            assert zlib.decompress(base64.b64decode(row["pictures"][version])) == served["/image/3"]
        plain = running.control.ask("truth")
        assert "lists" not in plain
        assert list(plain["rows"][0]) == ["key", "pages", "versions"]
