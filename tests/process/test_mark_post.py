"""The mark post against callers that overdo it: it waits for nobody, forgets no answer, and dies of nothing."""

import os
import resource
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from killtest.process.mark_post import MarkPost

GO_ON = b"go on\n"
Call = Callable[[], socket.socket]


@pytest.fixture
def due() -> list[tuple[str, int]]:
    """What has come due."""
    return []


@pytest.fixture
def post(tmp_path: Path, due: list[tuple[str, int]]) -> Iterator[MarkPost]:
    """A post in whose sight everybody belongs to incarnation 0."""
    with closing(MarkPost(tmp_path / "s", lambda name, n, _: due.append((name, n)), lambda _: 0)) as post:
        yield post


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    """Opens another connection to the post."""
    with ExitStack() as opened:

        def call_once() -> socket.socket:
            caller = opened.enter_context(socket.socket(socket.AF_UNIX))
            caller.settimeout(10)
            caller.connect(str(tmp_path / "s"))
            return caller

        yield call_once


@pytest.fixture
def few_files() -> Iterator[None]:
    """Not many more files may be open than are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 2 * max(40, open_files())
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files() -> int:
    # Without the one through which they are listed.
    return len(list(Path("/proc/self/fd").iterdir())) - 1


def looked(post: MarkPost, times: int = 20) -> MarkPost:
    for _ in range(times):
        post.look()
    return post


def all_of(caller: socket.socket, post: MarkPost) -> bytes:
    """Every byte that comes until the post hangs up or has nothing more to say."""
    caller.setblocking(False)
    heard, silent = b"", 0
    while silent < 5:
        post.look()
        try:
            piece = caller.recv(1 << 16)
        except BlockingIOError:
            silent += 1
            continue
        if not piece:
            break
        heard, silent = heard + piece, 0
    return heard


def test_names_written_in_one_go_are_all_answered_however_late_they_are_read(post: MarkPost, call: Call) -> None:
    caller = call()
    for _ in range(20):
        caller.sendall(b"x\n" * 1000)
        looked(post)
    assert all_of(caller, post) == GO_ON * 20_000


def test_who_reads_no_answers_is_not_listened_to_for_ever(post: MarkPost, call: Call) -> None:
    caller = call()
    caller.setblocking(False)
    sent = 0
    with suppress(BlockingIOError):
        while sent < 1 << 24:
            sent += caller.send(b"x\n" * 1000)
            post.look()
    assert sent < 1 << 24
    looked(post, 200)
    answers = all_of(caller, post)
    assert answers == GO_ON * (sent // 2)
    other = call()
    other.sendall(b"y\n")
    looked(post)
    assert other.recv(100) == GO_ON


def test_who_has_said_all_gets_its_answers_and_is_forgotten(post: MarkPost, call: Call) -> None:
    caller = call()
    before = open_files()
    caller.sendall(b"x\n" * 2000)
    caller.shutdown(socket.SHUT_WR)
    assert all_of(caller, post) == GO_ON * 2000
    assert open_files() == before


def test_answers_behind_the_mark_that_a_fault_waits_for_wait_as_well(
    post: MarkPost, due: list[tuple[str, int]], call: Call
) -> None:
    post.arm(0, "b", 1)
    caller = call()
    caller.sendall(b"b\na\na\n")
    caller.shutdown(socket.SHUT_WR)
    assert all_of(caller, looked(post)) == b""
    assert due == [("b", 1)]
    post.release()
    assert all_of(caller, post) == GO_ON * 3


def test_caller_that_dies_while_it_is_held_does_not_keep_the_post_busy(
    post: MarkPost, due: list[tuple[str, int]], call: Call
) -> None:
    before = open_files()
    post.arm(0, "b", 1)
    caller = call()
    caller.sendall(b"b\n")
    looked(post)
    caller.close()
    looked(post)
    assert due == [("b", 1)]
    assert not select.select([post], [], [], 0)[0]
    post.release()
    assert open_files() == before


def test_who_is_held_stays_so_when_nothing_is_waited_for_any_more(post: MarkPost, call: Call) -> None:
    post.arm(0, "b", 1)
    caller = call()
    caller.sendall(b"b\n")
    looked(post)
    post.disarm()
    looked(post)
    assert not select.select([caller], [], [], 0)[0]
    post.release()
    assert caller.recv(100) == GO_ON


def test_more_callers_than_the_warden_can_have_cost_the_idlest_its_connection(
    post: MarkPost, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (40, 40))
    before = open_files()
    talker, held = call(), call()
    post.arm(0, "held", 1)
    held.sendall(b"held\n")
    looked(post)
    others = []
    for _ in range(100):
        others.append(call())
        talker.sendall(b"x\n")
        looked(post, 2)
        assert talker.recv(100) == GO_ON
    assert open_files() == before + 102 + 20  # our ends, and the post's
    post.release()
    assert held.recv(100) == GO_ON
    for one in others:
        one.setblocking(False)
    assert all_of(others[0], post) == b""
    others[-1].sendall(b"x\n")
    assert all_of(others[-1], post) == GO_ON


def test_descriptors_that_others_have_taken_end_no_post(
    post: MarkPost, few_files: None, call: Call, tmp_path: Path
) -> None:
    first = call()
    looked(post)
    with socket.socket(socket.AF_UNIX) as second:
        taken: list[int] = []
        with suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        second.connect(str(tmp_path / "s"))
        second.sendall(b"x\n")
        looked(post)
        assert second.recv(100) == GO_ON
        assert first.recv(100) == b""
    for fd in taken:
        os.close(fd)


@pytest.mark.parametrize(("length", "answer"), [(4096, GO_ON), (4097, b""), (9000, b"")])
def test_name_may_have_4096_bytes(
    length: int, answer: bytes, post: MarkPost, due: list[tuple[str, int]], call: Call
) -> None:
    caller = call()
    caller.sendall(b"x" * length + b"\n")
    looked(post)
    assert caller.recv(100) == answer if answer or length < 5000 else _is_hung_up(caller)


def _is_hung_up(caller: socket.socket) -> bool:
    try:
        return caller.recv(100) == b""
    except ConnectionResetError:  # with a part of the name unread
        return True
