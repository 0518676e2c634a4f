"""`manage.py push CHANGE --rolling`: give a change of the code to all instances, one after another."""

from __future__ import annotations

import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawling import change, progress
from crawling.queue_session import session
from crawling.rollout import NO_JOB, Interrupted, NotTaken, Plan, Rollout, plan


class Command(BaseCommand):
    """A line for each instance."""

    help = "Lay changed files over the code of every instance, one instance after another."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument(
            "change", type=Path, help="a folder of files by their paths from the code root; or one file, by its name"
        )
        parser.add_argument(
            "--rolling",
            action="store_true",
            required=True,
            help="the next instance when this one runs it: the only way",
        )
        parser.add_argument(
            "--timeout", type=float, default=30.0, metavar="S", help="seconds that an instance has to run it (30)"
        )
        parser.add_argument("--wait", type=float, default=10.0, help="seconds to wait for the queue (default: 10)")

    def handle(self, **options: Any) -> None:
        """Push; exit code 2 for a change that cannot be laid over, 1 when not all instances that should run it."""
        with session(settings.REDIS_URL, options["wait"], self.stderr.write) as (queue, ask):
            found = ask(lambda: progress.read(queue.client, NO_JOB)).instances
            with _as_words(change.BadChange, returncode=2), _as_words(OSError):
                planned = plan(change.read(options["change"]), found)
            with _signals() as caught:
                self._roll(Rollout(queue, options["timeout"], self._say, lambda: bool(caught)), planned, caught)

    def _roll(self, rollout: Rollout, planned: Plan, caught: list[int]) -> None:
        """Run, and say at an end that is none who has what. Raises CommandError."""
        try:
            rollout.run(planned)
        except (NotTaken, Interrupted) as error:
            code = 128 + caught[0] if isinstance(error, Interrupted) else 1
            have, rest = (", ".join(names) or "none" for names in (rollout.changed, rollout.unchanged))
            raise CommandError(f"not finished; with the change: {have}; without: {rest}", returncode=code) from error
        if not planned.turns:
            raise CommandError("no instance runs, so there is nothing to push to; start one with `manage.py crawl`")
        if rollout.lapsed:
            raise CommandError(f"without the change, since they did not answer: {', '.join(rollout.lapsed)}")

    def _say(self, what: str) -> None:
        self.stdout.write(what)
        self.stdout.flush()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM, so that none of them leaves half a change behind."""
    caught: list[int] = []

    def catch(signum: int, _frame: FrameType | None) -> None:
        caught.append(signum)

    before = {signum: signal.signal(signum, catch) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def _as_words(*kinds: type[Exception], returncode: int = 1) -> Iterator[None]:
    """Turn errors into one line and an exit code."""
    try:
        yield
    except kinds as error:
        raise CommandError(str(error), returncode=returncode) from error
