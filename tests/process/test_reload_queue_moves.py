"""The queue's moves on a real server: each may be repeated, and none is taken from who has no right to it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from crawling import audit, progress
from crawling.page import Follow
from crawling.task_queue import Answer, Seat, Task, TaskQueue
from queue_run import Server

LEASE_S = 60.0
ABOUT = '{"state": "running", "generation": 1, "digest": "d", "folder": "f", "workers": 2, "reloads": 0}'
START = "http://shop/0"


class Twice:
    """A queue whose answers get lost: every move is made twice, and the second answer counts."""

    def __init__(self, queue: TaskQueue) -> None:
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        move = getattr(self.queue, name)

        def twice(*words: object, **named: object) -> Any:
            move(*words, **named)
            found = move(*words, **named)
            assert audit.complaints(self.queue.client) == []
            return found

        return twice


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("moves") / "queue")
    yield running
    running.close()


@pytest.fixture
def queue(server: Server) -> Any:
    server.client.flushall()
    return Twice(TaskQueue(server.client))


def counts(server: Server, job: str = "j") -> tuple[int, int, int, int]:
    found = progress.read(server.client, job).jobs[0]
    return found.remaining, found.added, found.finished, found.failed


def seat(token: str = "a:1", slot: int = 0, name: str = "n1") -> Seat:
    return Seat(name, token, slot)


def claimed(queue: Any, *tokens: str, name: str = "n1", workers: int = 2) -> None:
    for token in tokens:
        assert queue.claim(name, token, LEASE_S, workers, ABOUT)[0] == "ok"


def taken(queue: Any, where: Seat) -> Task:
    answer: Answer = queue.take(where)
    assert answer.task is not None
    return answer.task


def test_a_submission_that_is_repeated_is_one_job(queue: Any, server: Server) -> None:
    assert queue.submit("nonce-1", "shop", START) == ("shop-1", True)
    assert queue.submit("nonce-2", "shop", START) == ("shop-2", True)
    assert counts(server, "shop-1") == (1, 1, 0, 0)
    assert server.client.lrange("crawl:queue", 0, -1) == [f"shop-1 {START}", f"shop-2 {START}"]


def test_a_second_job_of_an_id_changes_nothing(queue: Any, server: Server) -> None:
    assert queue.submit("nonce-1", "shop", START, "j") == ("j", True)
    assert queue.submit("nonce-2", "shop", "http://shop/other", "j") == ("j", False)
    assert counts(server) == (1, 1, 0, 0)


def test_an_id_made_up_is_never_one_that_somebody_chose(queue: Any) -> None:
    queue.submit("nonce-1", "shop", START, "shop-1")
    assert queue.submit("nonce-2", "shop", START) == ("shop-2", True)


def test_a_task_finishes_once_and_brings_each_child_once(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    first = taken(queue, seat())
    assert (first.job, first.url, first.spider) == ("j", START, "shop")
    children = [Follow("http://shop/1", {"title": "T é"}), Follow("http://shop/1"), Follow(START)]
    answer = queue.finish(seat(), first, children, take=True)
    assert answer.task == Task("j http://shop/1", "shop", {"title": "T é"})
    assert counts(server) == (1, 2, 1, 0)
    assert queue.finish(seat(), answer.task, [], take=True) == Answer("ok")
    assert counts(server) == (0, 2, 2, 0)
    assert queue.done()


def test_a_failure_keeps_its_reason_until_it_is_retried(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    queue.fail(seat(), taken(queue, seat()), "HTTP 404", take=False)
    assert counts(server) == (0, 1, 0, 1)
    assert queue.done()
    assert progress.read(server.client).jobs[0].failures == {START: "HTTP 404"}
    assert queue.queue.retry("j") == 1
    assert queue.retry("j") == 0
    assert counts(server) == (1, 1, 0, 0)
    assert progress.read(server.client).jobs[0].failures == {}
    assert not queue.done()
    assert queue.retry("unknown") is None


def test_nothing_is_done_before_there_is_a_job(queue: Any) -> None:
    assert not queue.done()


def test_an_older_generation_is_refused_and_its_successor_runs_its_tasks(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    task = taken(queue, seat("a:1"))
    claimed(queue, "a:2")
    assert queue.holds(seat("a:1"), task) == "fenced"
    assert queue.finish(seat("a:1"), task, [Follow("http://shop/1")], take=True) == Answer("fenced")
    assert queue.fail(seat("a:1"), task, "late", take=True) == Answer("fenced")
    assert queue.take(seat("a:1")) == Answer("fenced")
    assert queue.beat("n1", "a:1", LEASE_S, ABOUT) == ("fenced", {})
    assert queue.claim("n1", "a:1", LEASE_S, 2, ABOUT)[0] == "fenced"
    assert counts(server) == (1, 1, 0, 0)
    assert taken(queue, seat("a:2")) == task
    assert queue.holds(seat("a:2"), task) == "ok"


def test_a_name_that_is_held_is_refused_to_another_main_until_its_lease_lapses(queue: Any, server: Server) -> None:
    claimed(queue, "a:1")
    state, wait_ms = queue.claim("n1", "b:1", LEASE_S, 2, ABOUT)
    assert state == "held"
    assert 0 < wait_ms <= LEASE_S * 1000
    server.client.delete("crawl:lease:n1")  # as when it lapses
    claimed(queue, "b:1")
    assert queue.beat("n1", "a:1", LEASE_S, ABOUT)[0] == "fenced"


def test_tasks_of_a_lapsed_instance_go_to_the_front_of_the_queue(queue: Any, server: Server) -> None:
    queue.submit("nonce-1", "shop", START, "j")
    queue.submit("nonce-2", "shop", START, "k")
    claimed(queue, "a:1")
    claimed(queue, "b:1", name="n2")
    task = taken(queue, seat("a:1"))
    server.client.delete("crawl:lease:n1")
    assert queue.holds(seat("a:1"), task) == "lapsed"
    assert queue.finish(seat("a:1"), task, [], take=False) == Answer("lapsed")
    assert queue.queue.beat("n2", "b:1", LEASE_S, ABOUT) == ("ok", {"n1": 1})
    assert queue.beat("n2", "b:1", LEASE_S, ABOUT) == ("ok", {})
    assert server.client.lrange("crawl:queue", 0, -1) == [f"j {START}", f"k {START}"]
    # The sleeper wakes up, is leased again, and finds that the task is no longer its own.
    assert queue.queue.beat("n1", "a:1", LEASE_S, ABOUT) == ("lapsed", {})
    assert queue.holds(seat("a:1"), task) == "gone"
    other = seat("b:1", name="n2")
    assert taken(queue, other) == task
    assert queue.finish(seat("a:1"), task, [Follow("http://shop/lost")], take=False) == Answer("ok")
    assert counts(server) == (1, 1, 0, 0)
    queue.finish(other, task, [], take=False)
    assert counts(server) == (0, 1, 1, 0)


def test_a_lapsed_lease_that_nobody_noticed_costs_nothing(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    task = taken(queue, seat())
    server.client.delete("crawl:lease:n1")
    assert queue.queue.beat("n1", "a:1", LEASE_S, ABOUT) == ("lapsed", {})
    assert queue.finish(seat(), task, [], take=False) == Answer("ok")
    assert counts(server) == (0, 1, 1, 0)


def test_slots_beyond_the_workers_give_their_tasks_back(queue: Any, server: Server) -> None:
    for number in range(3):
        queue.submit(f"nonce-{number}", "shop", START, f"j{number}")
    claimed(queue, "a:1", workers=3)
    for slot in range(3):
        taken(queue, seat(slot=slot))
    assert queue.queue.claim("n1", "a:2", LEASE_S, 1, ABOUT) == ("ok", 2)
    claimed(queue, "a:2", workers=1)
    assert sorted(server.client.lrange("crawl:queue", 0, -1)) == [f"j1 {START}", f"j2 {START}"]
    assert server.client.hgetall("crawl:hand:n1") == {"0": f"j0 {START}"}


def test_an_orderly_end_gives_tasks_and_name_back(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    task = taken(queue, seat())
    assert queue.queue.release("n1", "b:1", ABOUT) == 0  # another's name is not ours to give back
    assert server.client.hlen("crawl:hand:n1") == 1
    assert queue.queue.release("n1", "a:1", ABOUT) == 1
    assert queue.release("n1", "a:1", ABOUT) == 0
    claimed(queue, "b:1", name="n2")
    assert taken(queue, seat("b:1", name="n2")) == task


def test_a_page_is_given_up_at_the_last_death_and_a_death_counts_once(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    claimed(queue, "a:1")
    task = taken(queue, seat())
    for number in (1, 2):
        assert queue.death(seat(), f"death-{number}", 3, "SIGSEGV") == (task.key, number)
        assert taken(queue, seat()) == task
    assert queue.queue.death(seat(), "death-3", 3, "SIGKILL") == (task.key, 3)
    assert queue.death(seat(), "death-3", 3, "SIGKILL") == ("", 0)
    assert counts(server) == (0, 1, 0, 1)
    assert progress.read(server.client).jobs[0].failures == {START: "killed its worker 3 times (last: SIGKILL)"}


class Storm:
    """Three instances crawl a web of links while leases lapse, workers die, mains reload, and the late come late."""

    NAMES = ("n1", "n2", "n3")

    def __init__(self, queue: Any, server: Server, chance: random.Random) -> None:
        self.queue, self.server, self.chance = queue, server, chance
        self.pages = {f"http://shop/{n}": [f"http://shop/{chance.randrange(40)}" for _ in range(3)] for n in range(40)}
        self.generations = dict.fromkeys(self.NAMES, 0)
        self.held: list[tuple[Seat, Task]] = []
        for name in self.NAMES:
            self.reload(name)

    def seat(self, name: str, slot: int) -> Seat:
        return Seat(name, f"{name}:{self.generations[name]}", slot)

    def work(self, name: str) -> None:
        here = self.seat(name, self.chance.randrange(2))
        if task := self.queue.take(here).task:
            self.held.append((here, task))
            if self.chance.random() < 0.6:
                self.finish(here, task)

    def finish(self, here: Seat, task: Task) -> None:
        children = [Follow(url) for url in self.pages[task.url]]
        self.queue.finish(here, task, children, take=self.chance.random() < 0.5)

    def late(self, _name: str) -> None:
        if self.held:
            self.finish(*self.chance.choice(self.held))

    def lapse(self, name: str) -> None:
        self.server.client.delete(f"crawl:lease:{name}")

    def beat(self, name: str) -> None:
        self.queue.beat(name, self.seat(name, 0).token, LEASE_S, ABOUT)

    def reload(self, name: str) -> None:
        self.generations[name] += 1
        claimed(self.queue, self.seat(name, 0).token, name=name, workers=self.chance.choice((1, 2)))

    def die(self, name: str) -> None:
        self.queue.death(self.seat(name, self.chance.randrange(2)), f"{self.chance.random()}", 1000, "SIGKILL")

    def blow(self) -> None:
        moves = (self.work, self.lapse, self.beat, self.reload, self.die, self.late)
        self.chance.choices(moves, (10, 1, 3, 1, 1, 2))[0](self.chance.choice(self.NAMES))

    def calm(self) -> None:
        for name in self.NAMES:
            self.beat(name)
        while not self.queue.done():
            for here in [self.seat(name, slot) for name in self.NAMES for slot in range(2)]:
                if task := self.queue.take(here).task:
                    self.finish(here, task)

    def reached(self) -> int:
        found = {START}
        while more := {url for page in found for url in self.pages[page]} - found:
            found |= more
        return len(found)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_in_whatever_order_every_page_ends_once(queue: Any, server: Server, seed: int) -> None:
    storm = Storm(queue, server, random.Random(seed))
    queue.submit("nonce", "shop", START, "j")
    for _ in range(300):
        storm.blow()
        remaining, *_ = counts(server)
        assert remaining >= 0
        assert (remaining == 0) == queue.done()
    storm.calm()
    assert counts(server) == (0, storm.reached(), storm.reached(), 0)


def test_a_task_that_somebody_queued_by_hand_as_well_counts_once(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    server.client.rpush("crawl:queue", f"j {START}")
    plain = queue.queue  # the recount would complain, and rightly
    claimed(plain, "a:1")
    for slot in range(2):
        plain.finish(seat(slot=slot), taken(plain, seat(slot=slot)), [Follow("http://shop/1")], take=False)
    assert counts(server) == (1, 2, 1, 0)


def test_the_recount_sees_what_is_wrong(queue: Any, server: Server) -> None:
    queue.submit("nonce", "shop", START, "j")
    queue.submit("nonce-2", "shop", START, "k")
    assert audit.complaints(server.client) == []
    server.client.hincrby("crawl:job:j", "finished", 1)
    assert audit.complaints(server.client) == ["j: counter finished says 1, its tasks say 0"]
    server.client.hincrby("crawl:job:j", "finished", -1)
    server.client.lrem("crawl:queue", 1, f"j {START}")
    assert audit.complaints(server.client) == [f"j {START}: to do, but nowhere"]
    server.client.rpush("crawl:queue", f"j {START}", f"j {START}", "j http://shop/x", "l http://shop/")
    assert audit.complaints(server.client) == [
        f"j {START}: to do, but in 2 places",
        "j http://shop/x: its job does not know it",
        "l http://shop/: nobody knows its job",
    ]


def test_children_that_cannot_be_read_leave_the_task_as_it_was(queue: Any, server: Server) -> None:
    job, _ = queue.submit("n", "shop", START, "j")
    claimed(queue, "a:1")
    task = taken(queue, seat())
    with pytest.raises(redis.ResponseError):
        queue.queue.finish(seat(), task, [Follow(f"{START}?\ud800")], take=False)
    assert counts(server, job) == (1, 1, 0, 0)
    assert audit.complaints(server.client) == []
    queue.finish(seat(), task, [], take=False)
    assert counts(server, job) == (0, 1, 1, 0)
