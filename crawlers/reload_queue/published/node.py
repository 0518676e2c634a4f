"""The main process of a node: takes tasks in hand and starts a process for each, under Django's reloader."""

import os
import signal
import time
from importlib import import_module
from multiprocessing import Process
from multiprocessing.connection import wait

import redis
import tasks
from django.utils import autoreload
from mark import announce

POLL_S = 0.2
BEAT_S = 1.0


def run(name: str, workers: int, spiders: list[str], until_done: bool) -> None:
    """Crawl under the reloader: the first process only starts the second one, again and again while it exits with 3."""
    autoreload.run_with_reloader(crawl, name, workers, spiders, until_done)


def crawl(name: str, workers: int, spiders: list[str], until_done: bool) -> None:
    """Take back what the node had in hand, then dispatch; it runs in a thread beside the reloader."""
    for spider in spiders:
        import_module(f"spiders.{spider}")  # a module that the main process has imported is watched
    db = tasks.connect()
    tasks.take_back(db, name)
    dispatch(db, name, workers, until_done)
    # The reloader owns the main thread; a SIGTERM is how it is told to exit with 0.
    os.kill(os.getpid(), signal.SIGTERM)


def dispatch(db: redis.Redis, name: str, workers: int, until_done: bool) -> None:
    """Keep so many workers busy, until all jobs are done if that is asked for."""
    running: list[Process] = []
    beaten_s = 0.0
    while True:
        running = [process for process in running if process.is_alive()]
        text = tasks.take(db, name) if len(running) < workers else None
        if text is not None:
            running.append(started(name, text))
        elif until_done and done(db):
            return
        else:
            wait([process.sentinel for process in running], POLL_S)
        if time.monotonic() - beaten_s >= BEAT_S:
            announce("beat")
            beaten_s = time.monotonic()


def started(name: str, text: str) -> Process:
    """A new worker process that does this task; it is a daemon, so that a reload need not wait for its page."""
    from worker import work

    process = Process(target=work, args=(name, text), daemon=True)
    process.start()
    return process


def done(db: redis.Redis) -> bool:
    """NR decides: there are jobs, and none has anything left."""
    found = tasks.jobs(db)
    return bool(found) and all(job["remaining"] <= 0 for job in found)
