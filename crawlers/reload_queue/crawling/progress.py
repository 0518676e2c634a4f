"""How far everything is: jobs, instances, and tasks in hand, as data. Reads only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import redis

KEYS = "crawl:"


@dataclass(frozen=True)
class Job:
    """A job's counters (NA, NF, NE, NR) and, by URL, why tasks failed. `submitted_s` is since the epoch."""

    id: str
    spider: str
    url: str
    added: int
    finished: int
    failed: int
    remaining: int
    submitted_s: int
    failures: dict[str, str]


@dataclass(frozen=True)
class Instance:
    """A node as it last described itself. State: running, reloading, stopped, or lost (its lease lapsed)."""

    name: str
    state: str
    generation: int
    digest: str
    folder: str
    workers: int
    beat_age_s: float
    reloads: int


@dataclass(frozen=True)
class InHand:
    """A task that a worker slot holds."""

    instance: str
    slot: int
    job: str
    url: str


@dataclass(frozen=True)
class Progress:
    """Everything at one moment; `queued` is the number of tasks that nobody holds."""

    jobs: list[Job]
    instances: list[Instance]
    in_hand: list[InHand]
    queued: int


def read(client: redis.Redis, only: str = "") -> Progress:
    """Where everything stands; `only` one job if it is named. Raises redis.RedisError."""
    ids = [only] if only else client.lrange(f"{KEYS}jobs", 0, -1)
    names = sorted(client.hkeys(f"{KEYS}instances"))
    with client.pipeline(transaction=True) as batch:  # one moment: the parts fit together
        batch.llen(f"{KEYS}queue").hgetall(f"{KEYS}instances").hgetall(f"{KEYS}beats").time()
        for name in names:
            batch.get(f"{KEYS}lease:{name}").hgetall(f"{KEYS}hand:{name}")
        for job in ids:
            batch.hgetall(f"{KEYS}job:{job}").hgetall(f"{KEYS}reason:{job}")
        queued, about, beats, now, *rest = batch.execute()
    of_instances, of_jobs = rest[: 2 * len(names)], rest[2 * len(names) :]
    now_ms = now[0] * 1000 + now[1] / 1000
    instances, in_hand = [], []
    for name, lease, hand in zip(names, of_instances[::2], of_instances[1::2], strict=True):
        age_s = (now_ms - float(beats.get(name, now_ms))) / 1000
        instances.append(_instance(name, json.loads(about[name]), bool(lease), age_s))
        in_hand += [InHand(name, int(slot), *_parted(task)) for slot, task in hand.items()]
    jobs = [
        _job(job, fields, reasons)
        for job, fields, reasons in zip(ids, of_jobs[::2], of_jobs[1::2], strict=True)
        if fields
    ]
    in_hand = [one for one in in_hand if not only or one.job == only]
    return Progress(jobs, instances, sorted(in_hand, key=lambda one: (one.instance, one.slot)), queued)


def _job(name: str, fields: dict[str, str], reasons: dict[str, str]) -> Job:
    added, finished, failed = (int(fields[key]) for key in ("added", "finished", "failed"))
    return Job(
        name,
        fields["spider"],
        fields["url"],
        added,
        finished,
        failed,
        added - finished - failed,
        int(fields["submitted"]),
        dict(sorted(reasons.items())),
    )


def _instance(name: str, about: dict[str, Any], leased: bool, age_s: float) -> Instance:
    state = about["state"] if leased or about["state"] == "stopped" else "lost"
    return Instance(
        name,
        state,
        about["generation"],
        about["digest"],
        about["folder"],
        about["workers"],
        round(max(0.0, age_s), 3),
        about["reloads"],
    )


def _parted(task: str) -> tuple[str, str]:
    job, _, url = task.partition(" ")
    return job, url
