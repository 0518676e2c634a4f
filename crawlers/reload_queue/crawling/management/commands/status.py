"""`manage.py status [JOB]`: how far the jobs are, who works, and on what."""

from __future__ import annotations

import dataclasses
import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawling import audit, progress
from crawling.queue_session import session


class Command(BaseCommand):
    """A table for people, or JSON."""

    help = "Show the jobs (NR remaining, NA added, NF finished, NE failed), the instances, and the tasks in hand."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("job", nargs="?", default="", help="only this job")
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument("--check", action="store_true", help="recount everything; exit code 1 if it disagrees")
        parser.add_argument("--wait", type=float, default=10.0, help="seconds to wait for the queue (default: 10)")

    def handle(self, **options: Any) -> None:
        """Show; a job that does not exist is an error with exit code 2."""
        with session(settings.REDIS_URL, options["wait"], self.stderr.write) as (queue, ask):
            found = ask(lambda: progress.read(queue.client, options["job"]))
            said = ask(lambda: audit.complaints(queue.client)) if options["check"] else []
        if options["job"] and not found.jobs:
            raise CommandError(f"there is no job {options['job']}; `manage.py status` lists them", returncode=2)
        self.stdout.write(json.dumps(dataclasses.asdict(found)) if options["json"] else text(found))
        if said:
            raise CommandError("the queue disagrees with itself:\n" + "\n".join(said), returncode=1)


def text(found: progress.Progress) -> str:
    """For people."""
    lines = [f"{len(found.jobs)} jobs, {found.queued} tasks queued, {len(found.in_hand)} in hand"]
    for job in found.jobs:
        lines.append(f"{job.id}: NR {job.remaining}  NA {job.added}  NF {job.finished}  NE {job.failed}  {job.url}")
        lines += [f"  failed: {url}: {reason}" for url, reason in job.failures.items()]
    for one in found.instances:
        lines.append(
            f"{one.name}: {one.state}, generation {one.generation} ({one.reloads} reloads), {one.workers} workers,"
            f" digest {one.digest[:12]}, heard of {one.beat_age_s:.1f} s ago"
        )
        lines += [f"  {task.slot}: {task.job} {task.url}" for task in found.in_hand if task.instance == one.name]
    return "\n".join(lines)
