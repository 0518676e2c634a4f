"""The loop of a worker process: take a task, fetch, parse, store, tell the queue; it ends when told to."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urldefrag

from django.db import Error as DatabaseError

from crawling import download, patience, spider_book, storage
from crawling.event_log import Say
from crawling.marks import Marks
from crawling.orders import Orders
from crawling.page import Follow, Page, Row
from crawling.page_address import is_page
from crawling.task_queue import Answer, Seat, Task, TaskQueue

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]
IDLE_FIRST_S = 0.02
IDLE_LONGEST_S = 0.25
LAPSED_S = 0.1
LONGEST_REASON = 1000  # characters: a spider's error may quote a whole page


class Fenced(Exception):
    """Another generation or another main is this instance now: nothing is left to do here."""


class PageFailed(Exception):
    """The page will not do better next time; the text is the reason."""


class Worker:
    """One worker process's work. `seat` is its place in the queue."""

    def __init__(self, queue: TaskQueue, seat: Seat, orders: Orders, say: Say) -> None:
        self.queue, self.seat, self.orders, self.say = queue, seat, orders, say
        self.marks = Marks()
        self.http = download.pool()
        self.outage = patience.Outage("")  # the main says it, once for all its workers

    def run(self) -> None:
        """Work until told to stop. A page that could not be finished by then stays in the slot's hand."""
        try:
            task = self._next(None)
            while task and not self.orders.stopped():
                task = self._next(self._work(task))
        except (Fenced, download.Interrupted, patience.GivenUp):
            return

    def _next(self, answer: Answer | None) -> Task | None:
        """The task that came along with an answer, or the next there is; None when told to stop."""
        pause_s = IDLE_FIRST_S
        while not self.orders.stopped():
            if answer is None:
                answer = self._ask(lambda: self.queue.take(self.seat), may_stop=True)
            if answer.state == "ok" and answer.task:
                return answer.task
            answer = None
            self.orders.stopped_within(pause_s)
            pause_s = min(2 * pause_s, IDLE_LONGEST_S)
        return None

    def _work(self, task: Task) -> Answer:
        """Do a task to its end; what the queue answered, with the next task if there is one."""
        self.marks.reach("taken")
        try:
            children = self._page(task)
        except (PageFailed, download.Refused) as error:
            reason = str(error).encode(errors="replace").decode()[:LONGEST_REASON]
            self.say(f"failed: {task.url} of {task.job}: {reason}")
            return self._tell(lambda take: self.queue.fail(self.seat, task, reason, take=take))
        except storage.Lost as error:
            self.say(f"dropped: {task.url} of {task.job}: the task is no longer ours ({error})")
            return Answer("ok")
        return self._tell(lambda take: self.queue.finish(self.seat, task, children, take=take))

    def _tell(self, tell: Callable[[bool], Answer]) -> Answer:
        answer = self._ask(lambda: tell(not self.orders.stopped()))
        self.marks.reach("finished")
        return answer

    def _page(self, task: Task) -> list[Follow]:
        """Fetch, parse and store a page; the pages it leads to."""
        fetched = download.fetch(self.http, task.url, self.orders.stopped_within)
        self.marks.reach("fetched")
        rows, children, revision = _parsed(task.spider, Page(fetched.url, fetched.body, task.meta))
        if rows:
            self._store(task, rows, revision)
            self.marks.reach("stored")
        return children

    def _store(self, task: Task, rows: list[Row], revision: int) -> None:
        """Commit the rows; a database out of reach is waited for."""
        failures = 0
        while True:
            try:
                storage.store(rows, task.job, revision, lambda: self._holds(task))
                return
            except DatabaseError as error:
                if not storage.out_of_reach(error):
                    raise PageFailed(f"{type(error).__name__}: {error}") from error
                if not failures:
                    self.say(f"the database does not answer ({error}); trying again")
                failures += 1
            except (TypeError, ValueError, ArithmeticError) as error:  # what no column can hold
                raise PageFailed(described(error)) from error
            if self.orders.stopped_within(patience.delay_s(failures)):
                raise download.Interrupted

    def _holds(self, task: Task) -> str:
        answer = self._ask(lambda: Answer(self.queue.holds(self.seat, task)))
        return answer.state

    def _ask(self, ask: Callable[[], Answer], *, may_stop: bool = False) -> Answer:
        """Ask the queue until it answers, holding what we have meanwhile; Fenced when we are no longer wanted.

        A lapsed lease is waited for as well: after an outage of the queue the main renews it, unless somebody
        else has become this instance.
        """
        until, sleep = (self.orders.stopped, self.orders.stopped_within) if may_stop else (lambda: False, time.sleep)
        while True:
            answer = patience.insist(ask, self.outage, until=until, sleep=sleep)
            if answer.state == "fenced":
                raise Fenced
            if answer.state != "lapsed":
                return answer
            if self.orders.stopped_within(LAPSED_S):
                raise download.Interrupted


def _parsed(spider_name: str, page: Page) -> tuple[list[Row], list[Follow], int]:
    """What a spider makes of a page, and its revision. Raises PageFailed when it raises, or makes what cannot be."""
    try:
        spider = spider_book.load(spider_name)
        found = list(spider.parse(page))
        return _sorted(found), _children(found), int(getattr(spider, "REVISION", 0))
    except Exception as error:  # the spider is not ours: whatever it raises fails this page and no more
        raise PageFailed(described(error)) from error


def _sorted(found: Iterable[object]) -> list[Row]:
    return [one for one in found if isinstance(one, Row)]


def _children(found: Iterable[object]) -> list[Follow]:
    # What stands behind # is for a reader's eyes: the page is the same.
    pages = [one for one in found if isinstance(one, Follow) and is_page(one.url)]
    children = [Follow(urldefrag(one.url).url, one.meta) for one in pages]
    json.dumps([dict(one.meta) for one in children])  # raises here, not where the queue is told
    return children


def described(error: BaseException) -> str:
    """An error in one line: `KeyError: 'price' (spiders/shop.py:17)`, the place being the last one in our code."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    places = [
        f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(ROOT)
    ]
    return f"{text} ({places[-1]})" if places else text
