"""Recounting: whether the counters agree with the tasks' states, and whether every task is somewhere."""

from __future__ import annotations

from collections import Counter

import redis

from crawling.progress import KEYS


def complaints(client: redis.Redis) -> list[str]:
    """What is wrong with the queue, a line each; empty when nothing is. Raises redis.RedisError.

    Everything is read in one transaction, so it may run beside a crawl.
    """
    while True:
        ids = client.lrange(f"{KEYS}jobs", 0, -1)
        names = client.hkeys(f"{KEYS}instances")
        with client.pipeline(transaction=True) as batch:
            batch.lrange(f"{KEYS}jobs", 0, -1).hkeys(f"{KEYS}instances")
            batch.lrange(f"{KEYS}queue", 0, -1).smembers(f"{KEYS}open")
            for name in names:
                batch.hvals(f"{KEYS}hand:{name}")
            for job in ids:
                batch.hgetall(f"{KEYS}job:{job}").hgetall(f"{KEYS}state:{job}")
            same_ids, same_names, queue, still_open, *rest = batch.execute()
        if (ids, names) == (same_ids, same_names):  # else a job or an instance came in between: read again
            break
    hands, jobs = rest[: len(names)], rest[len(names) :]
    places = Counter(queue) + Counter(task for hand in hands for task in hand)
    said = []
    for job, fields, states in zip(ids, jobs[::2], jobs[1::2], strict=True):
        said += _of_counters(job, fields, states, job in still_open)
        said += _of_places(job, states, places)
    return said + [f"{task}: nobody knows its job" for task in places if task.partition(" ")[0] not in ids]


def _of_counters(job: str, fields: dict[str, str], states: dict[str, str], is_open: bool) -> list[str]:
    counted = Counter(states.values())
    true = {"added": len(states), "finished": counted["finished"], "failed": counted["failed"]}
    said = [
        f"{job}: counter {name} says {fields[name]}, its tasks say {true[name]}"
        for name in true
        if int(fields[name]) != true[name]
    ]
    if is_open != bool(counted["queued"]):
        said.append(f"{job}: counts as {'open' if is_open else 'done'} with {counted['queued']} tasks to do")
    return said


def _of_places(job: str, states: dict[str, str], places: Counter[str]) -> list[str]:
    said = []
    for url, state in states.items():
        found = places[f"{job} {url}"]
        if state == "queued" and found != 1:
            said.append(f"{job} {url}: to do, but in {found} places" if found else f"{job} {url}: to do, but nowhere")
        if state != "queued" and found:
            said.append(f"{job} {url}: {state}, but still in {found} places")
    unknown = [task for task in places if task.partition(" ")[0] == job and task.partition(" ")[2] not in states]
    return said + [f"{task}: its job does not know it" for task in unknown]
