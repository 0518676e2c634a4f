"""The main process of a node: takes tasks in hand and gives each to a process, under Django's reloader."""

import os
import signal
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing import Pool, Process
from multiprocessing.pool import Pool as Workers

import redis
import tasks
from django.db import connection
from django.utils import autoreload
from mark import announce
from worker import work

POLL_S = 0.01
BEAT_S = 1.0

Busy = Callable[[], bool]  # is this task still being worked on?
Start = Callable[[str, str], Busy]  # node and task


def run(name: str, workers: int, spiders: list[str], pool: bool, until_done: bool) -> None:
    """Crawl under the reloader: the first process only starts the second one, again and again while it exits with 3."""
    autoreload.run_with_reloader(crawl, name, workers, spiders, pool, until_done)


def crawl(name: str, workers: int, spiders: list[str], pool: bool, until_done: bool) -> None:
    """Take back what the node had in hand, then dispatch; it runs in a thread beside the reloader."""
    for spider in spiders:
        import_module(f"spiders.{spider}")  # a module that the main process has imported is watched
    connection.close()  # it was never opened; but this loads the backend here, once, instead of in every worker
    db = tasks.connect()
    tasks.take_back(db, name)
    dispatch(db, name, workers, in_pool(Pool(workers)) if pool else in_process, until_done)
    # The reloader owns the main thread; a SIGTERM is how it is told to exit with 0.
    os.kill(os.getpid(), signal.SIGTERM)


def dispatch(db: redis.Redis, name: str, workers: int, start: Start, until_done: bool) -> None:
    """Keep so many workers busy, until all jobs are done if that is asked for."""
    running: list[Busy] = []
    beaten_s = 0.0
    while True:
        running = [busy for busy in running if busy()]
        text = tasks.take(db, name) if len(running) < workers else None
        if text is None:
            time.sleep(POLL_S)
        else:
            running.append(start(name, text))
        if time.monotonic() - beaten_s >= BEAT_S:
            announce("beat")
            if until_done and done(db):
                return
            beaten_s = time.monotonic()


def in_process(name: str, text: str) -> Busy:
    """Start a process for this task; it is a daemon, so that a reload need not wait for its page."""
    process = Process(target=work, args=(name, text), daemon=True)
    process.start()
    return process.is_alive


def in_pool(pool: Workers) -> Start:
    """Tasks go to the standing processes of a pool."""

    def start(name: str, text: str) -> Busy:
        result = pool.apply_async(work, (name, text))
        return lambda: not result.ready()

    return start


def done(db: redis.Redis) -> bool:
    """NR decides: there are jobs, and none has anything left."""
    found = tasks.jobs(db)
    return bool(found) and all(job["remaining"] <= 0 for job in found)
