"""`manage.py submit URL`: add jobs to the queue."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawling import jobs
from crawling.queue_session import session


class Command(BaseCommand):
    """Prints the id of each job, a line each."""

    help = "Add a job: its start page, and which spider reads it. Prints the job's id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("url", help="the start page")
        parser.add_argument("--spider", default="shop", help="a module of the folder spiders (default: shop)")
        parser.add_argument("--id", default="", help="the job's id, instead of one that is made up")
        parser.add_argument("--count", type=int, default=1, help="so many jobs of the same page (default: 1)")
        parser.add_argument("--wait", type=float, default=10.0, help="seconds to wait for the queue (default: 10)")

    def handle(self, **options: Any) -> None:
        """Submit; a spider or URL that cannot be is an error with exit code 2 and queues nothing."""
        if options["id"] and options["count"] != 1:
            raise CommandError("--id names one job; leave out --count", returncode=2)
        with session(settings.REDIS_URL, options["wait"], self.stderr.write) as (queue, ask):
            for _ in range(options["count"]):
                job = jobs.NewJob(options["url"], options["spider"], uuid.uuid4().hex, options["id"])
                try:
                    job.check()
                except jobs.BadJob as error:
                    raise CommandError(str(error), returncode=2) from error
                found, new = ask(lambda job=job: jobs.submit(queue, job))
                if not new:
                    self.stderr.write(f"job {found} exists already; nothing was changed")
                self.stdout.write(found)
