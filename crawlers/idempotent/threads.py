"""Several workers in the threads of one process, each with a connection and a session of its own.

What is shared is the store and the heartbeat. A thread that meets a bug ends alone: the others finish what is left,
its page included, and then the bug is raised. A store that fails, fails all of them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait

import requests
from crew import Store
from heartbeat import Heartbeat
from worker import work

LOOK_S = 1.0  # a signal that comes just before a wait begins is seen when it ends


def run(count: int, store: Store, heartbeat: Heartbeat) -> None:
    """Crawl with `count` threads until nothing is left."""
    with heartbeat, ThreadPoolExecutor(count) as pool:
        running = [pool.submit(_one, store, heartbeat) for _ in range(count)]
        while wait(running, LOOK_S).not_done:
            pass
    for future in running:
        future.result()


def _one(store: Store, heartbeat: Heartbeat) -> None:
    try:
        frontier = store.open()
        with requests.Session() as session:
            work(frontier, session, store.say, heartbeat.keep, store.beyond)
        frontier.db.close()
    except store.failures as error:
        os._exit(store.failed(error))  # the other threads too: nothing is saved on the way out
