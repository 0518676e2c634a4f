"""The queue of tasks in Redis: what may be done with it, as Python.

Every method is one script of `scripts` and may be repeated. All raise redis.RedisError when the server does not
answer; `patience` knows which of those pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawling import scripts
from crawling.page import Follow

CONNECT_S = 2.0
ANSWER_S = 5.0


@dataclass(frozen=True)
class Task:
    """A page to be fetched for a job; `key` is its name in the queue."""

    key: str
    spider: str
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def job(self) -> str:
        """The id of the job that it belongs to."""
        return self.key.partition(" ")[0]

    @property
    def url(self) -> str:
        """Where the page is."""
        return self.key.partition(" ")[2]


@dataclass(frozen=True)
class Seat:
    """The place of a worker: the instance, the token of its generation, and its slot."""

    instance: str
    token: str
    slot: int

    def words(self) -> tuple[str, str, int]:
        """As the scripts want it."""
        return self.instance, self.token, self.slot


@dataclass(frozen=True)
class Answer:
    """`state`: ok, lapsed (the lease ran out), fenced (somebody else has it), gone (no longer this slot's task)."""

    state: str
    task: Task | None = None


def connect(url: str) -> redis.Redis:
    """A client that fails fast and does not repeat by itself: `patience` says when and how often."""
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=CONNECT_S,
        socket_timeout=ANSWER_S,
        retry=Retry(NoBackoff(), 0),
    )


class TaskQueue:
    """The queue's moves."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        told = client.connection_pool.connection_kwargs
        place = told.get("path") or f"{told.get('host')}:{told.get('port')}"
        self.address = f"redis://{place}/{told.get('db') or 0}"  # for people: without a password
        texts = {
            name: getattr(scripts, name.upper())
            for name in ("submit", "retry", "claim", "beat", "release", "take", "holds", "finish", "death", "done")
        }
        self._scripts = {name: client.register_script(scripts.PRELUDE + text) for name, text in texts.items()}

    def submit(self, nonce: str, spider: str, url: str, job: str = "") -> tuple[str, bool]:
        """Add a job with its first task; its id, and whether it is new. `nonce` tells a repeat from another job."""
        found, new = self._run("submit", nonce, job, spider, url)
        return found, bool(new)

    def retry(self, job: str) -> int | None:
        """Queue a job's failed tasks again; how many, or None when there is no such job."""
        count = int(self._run("retry", job))
        return None if count < 0 else count

    def claim(self, name: str, token: str, lease_s: float, workers: int, about: str) -> tuple[str, int]:
        """Become the instance `name`: (ok, tasks given back by slots beyond), (held, ms to wait) or (fenced, 0)."""
        owner, _, generation = token.rpartition(":")
        state, number = self._run("claim", name, owner, generation, _ms(lease_s), workers, about)
        return state, int(number)

    def beat(self, name: str, token: str, lease_s: float, about: str) -> tuple[str, dict[str, int]]:
        """Renew the lease; the state it was in, and how many tasks of which dead instances were queued again."""
        state, *taken = self._run("beat", name, token, _ms(lease_s), about)
        return state, {taken[i]: int(taken[i + 1]) for i in range(0, len(taken), 2)}

    def release(self, name: str, token: str, about: str) -> int:
        """Give the lease and the tasks in hand back; how many those were."""
        return int(self._run("release", name, token, about)[1])

    def take(self, seat: Seat) -> Answer:
        """The slot's task: the one it has in hand already, or the queue's next."""
        return _answer(self._run("take", *seat.words()))

    def holds(self, seat: Seat, task: Task) -> str:
        """`ok` while the task is this slot's to do."""
        return str(self._run("holds", *seat.words(), task.key)[0])

    def finish(self, seat: Seat, task: Task, children: Iterable[Follow], *, take: bool) -> Answer:
        """Count a task as finished and add its children; the slot's next task comes along if `take`."""
        found = [[child.url, json.dumps(dict(child.meta)) if child.meta else ""] for child in children]
        return _answer(self._run("finish", *seat.words(), task.key, json.dumps(found), "", int(take)))

    def fail(self, seat: Seat, task: Task, reason: str, *, take: bool) -> Answer:
        """Count a task as failed, with its reason; the slot's next task comes along if `take`."""
        return _answer(self._run("finish", *seat.words(), task.key, "[]", reason or "unknown", int(take)))

    def death(self, seat: Seat, name: str, limit: int, cause: str) -> tuple[str, int]:
        """Count the death of a slot's worker, under a `name` of its own; its task ('' if none) and that one's deaths.

        At `limit` deaths the task has failed.
        """
        _, task, deaths = self._run("death", *seat.words(), name, limit, cause)
        return task, int(deaths)

    def done(self) -> bool:
        """Whether there is a job, and none has anything left to do."""
        return bool(self._run("done"))

    def _run(self, name: str, *words: str | int) -> Any:
        return self._scripts[name](args=list(words))


def _answer(reply: list[str]) -> Answer:
    state, *rest = reply
    if not rest or not rest[0]:
        return Answer(state)
    key, spider, meta = rest
    return Answer(state, Task(key, spider, json.loads(meta) if meta else {}))


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
