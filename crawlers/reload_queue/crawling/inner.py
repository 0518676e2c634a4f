"""The inner main: one generation of code. Imports the spiders, forks the workers, and runs the instance."""

from __future__ import annotations

import os
import signal

from django.conf import settings
from django.db import Error as DatabaseError

from crawling import code_check, handover, lifeline, reloader, spider_book, storage
from crawling.crawl_options import CrawlOptions
from crawling.crew import Crew
from crawling.event_log import Say, speaker
from crawling.instance import RELOAD, Instance
from crawling.orders import Orders
from crawling.outer import MISUSED
from crawling.task_queue import Seat, TaskQueue, connect
from crawling.worker import Worker


def run(options: CrawlOptions) -> int:
    """Run until told to end or until all is done; returns the exit code. A reload ends the process with 3."""
    say = speaker(f"{options.instance}/inner")
    if handover.LIFELINE not in os.environ:
        say("RUN_MAIN is set, but no outer main started this; unset it and run the command again")
        return MISUSED
    descriptor = int(os.environ[handover.LIFELINE])
    line, rest = lifeline.first_line(descriptor)
    told = handover.parse(line)
    with lifeline.tied(descriptor):
        if not _database_is_there(say):
            return MISUSED
    with lifeline.tied(descriptor, code_check.LONGEST_S):  # the outer main finds out why, and waits for a mend
        for name in spider_book.names():
            spider_book.load(name)
    # Before any thread starts and before any connection is opened: this forks.
    crew = Crew(lambda slot, alive, orders: _be_worker(Seat(options.instance, told.token, slot), alive, orders))
    instance = Instance(options, told, crew, TaskQueue(connect(settings.REDIS_URL)), say)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the outer main gets it as well, and tells us
    signal.signal(signal.SIGTERM, lambda _signum, _frame: instance.stop("SIGTERM"))
    instance.hear(rest)
    lifeline.die_with(descriptor, instance.hear)
    if options.reload:
        watcher = reloader.CodeReloader(told.prints, options.poll, instance.ended, say)
        reloader.run(watcher, instance.run, lambda: _stop_for_reload(instance))
    else:
        instance.run()
    return instance.code


def _stop_for_reload(instance: Instance) -> bool:
    """End the instance in order; False when it ends for another reason than the change."""
    instance.stop(RELOAD)
    instance.ended.wait()
    return instance.why == RELOAD


def _database_is_there(say: Say) -> bool:
    """False when the table is missing; a database that does not answer may do so by the time it is needed."""
    try:
        if storage.has_table():
            return True
    except DatabaseError as error:
        say(f"the database does not answer ({error}); going on, the workers will try again")
        return True
    say(f"the database {settings.DATABASES['default']['NAME']} has no tables; run `manage.py migrate` first")
    return False


def _be_worker(seat: Seat, alive: int, descriptor: int) -> None:
    """The life of a worker process."""
    orders = Orders(descriptor)
    orders.listen()
    lifeline.die_with(alive)
    Worker(TaskQueue(connect(settings.REDIS_URL)), seat, orders, speaker(f"{seat.instance}/{seat.slot}")).run()
