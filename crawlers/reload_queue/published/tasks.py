"""The tasks in Redis: a shared list, a list per node of those in its hand, and counters per job.

A task is JSON text: job, spider, url, meta. NR = NA - NF - NE: remaining = added - finished - failed.
"""

import json
import os

import redis

TASKS = "published:tasks"
JOBS = "published:jobs"
NUMBER = "published:number"


def connect() -> redis.Redis:
    """A client of the server that RELOAD_QUEUE_REDIS names."""
    url = os.environ.get("RELOAD_QUEUE_REDIS", "redis://127.0.0.1:6379/0")
    return redis.Redis.from_url(url, decode_responses=True)


def submit(db: redis.Redis, spider: str, url: str) -> str:
    """Queue the first task of a new job, which counts as added; returns the job's id."""
    job = f"{spider}-{db.incr(NUMBER)}"
    with db.pipeline(transaction=True) as multi:
        multi.rpush(JOBS, job)
        multi.hset(_job(job), mapping={"spider": spider, "url": url, "NA": 1, "NF": 0, "NE": 0})
        multi.rpush(TASKS, _task(job, spider, url, {}))
        multi.execute()
    return job


def take(db: redis.Redis, node: str) -> str | None:
    """Move the next task into the node's hand; None when the list is empty."""
    return db.lmove(TASKS, _hand(node), "LEFT", "RIGHT")


def take_back(db: redis.Redis, node: str) -> int:
    """Move what the node had in hand back to the front of the shared list; returns how many."""
    moved = 0
    while db.lmove(_hand(node), TASKS, "RIGHT", "LEFT") is not None:
        moved += 1
    return moved


def finish(db: redis.Redis, node: str, text: str, children: list[tuple[str, dict]]) -> None:
    """Push the children, count, and take the task out of the node's hand, in one MULTI."""
    task = json.loads(text)
    with db.pipeline(transaction=True) as multi:
        for url, meta in children:
            multi.rpush(TASKS, _task(task["job"], task["spider"], url, meta))
        if children:
            multi.hincrby(_job(task["job"]), "NA", len(children))
        multi.hincrby(_job(task["job"]), "NF", 1)
        multi.lrem(_hand(node), 1, text)
        multi.execute()


def fail(db: redis.Redis, node: str, text: str) -> None:
    """Count the task as failed and take it out of the node's hand, in one MULTI."""
    with db.pipeline(transaction=True) as multi:
        multi.hincrby(_job(json.loads(text)["job"]), "NE", 1)
        multi.lrem(_hand(node), 1, text)
        multi.execute()


def jobs(db: redis.Redis) -> list[dict]:
    """All jobs with their counters, in the order of their submission."""
    return [_counted(job, db.hgetall(_job(job))) for job in db.lrange(JOBS, 0, -1)]


def in_hand(db: redis.Redis) -> list[dict]:
    """The tasks in the hand of every node."""
    found = []
    for key in db.scan_iter(_hand("*")):
        for text in db.lrange(key, 0, -1):
            task = json.loads(text)
            found.append({"instance": key.removeprefix(_hand("")), "job": task["job"], "url": task["url"]})
    return found


def _counted(job: str, fields: dict[str, str]) -> dict:
    added, finished, failed = (int(fields[name]) for name in ("NA", "NF", "NE"))
    counts = {"added": added, "finished": finished, "failed": failed, "remaining": added - finished - failed}
    return {"id": job, "spider": fields["spider"], "url": fields["url"], **counts}


def _task(job: str, spider: str, url: str, meta: dict) -> str:
    return json.dumps({"job": job, "spider": spider, "url": url, "meta": meta})


def _job(job: str) -> str:
    return f"published:job:{job}"


def _hand(node: str) -> str:
    return f"published:hand:{node}"
