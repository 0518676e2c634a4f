"""A worker process: fetches one page, stores its rows, tells the queue."""

import json
import sys
from importlib import import_module

import tasks
import urllib3
from mark import announce
from record import store

TIMEOUT_S = 30


def work(node: str, text: str) -> None:
    """Do one task that the node has in hand."""
    db = tasks.connect()
    task = json.loads(text)
    announce("taken")
    try:
        html = fetch(task["url"])
        announce("fetched")
        rows, children = import_module(f"spiders.{task['spider']}").parse(task["url"], html, task["meta"])
        store(task["job"], rows)
        announce("stored")
    except Exception as error:
        sys.stderr.write(f"{node}: {task['url']}: {type(error).__name__}: {error}\n")
        tasks.fail(db, node, text)
    else:
        tasks.finish(db, node, text, children)
    announce("finished")


def fetch(url: str) -> bytes:
    """The page; OSError when the answer is not 200, or what urllib3 raises."""
    answer = urllib3.request("GET", url, timeout=TIMEOUT_S, retries=False)
    if answer.status != 200:
        raise OSError(f"HTTP {answer.status}")
    return answer.data
