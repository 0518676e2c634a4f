"""`manage.py retry JOB`: queue the failed tasks of a job again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawling.queue_session import session


class Command(BaseCommand):
    """Prints how many tasks were queued again."""

    help = "Queue the failed tasks of a job again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("job", help="the job's id")
        parser.add_argument("--wait", type=float, default=10.0, help="seconds to wait for the queue (default: 10)")

    def handle(self, **options: Any) -> None:
        """Retry; a job that does not exist is an error with exit code 2."""
        with session(settings.REDIS_URL, options["wait"], self.stderr.write) as (queue, ask):
            count = ask(lambda: queue.retry(options["job"]))
        if count is None:
            raise CommandError(f"there is no job {options['job']}; `manage.py status` lists them", returncode=2)
        self.stdout.write(f"{count}")
