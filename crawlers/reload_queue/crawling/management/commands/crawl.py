"""`manage.py crawl`: run an instance. manage.py starts the outer main, which starts this as the inner one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from crawling import crawl_options, inner


class Command(BaseCommand):
    """The inner main."""

    help = crawl_options.HELP
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        crawl_options.add_arguments(parser)

    def handle(self, **options: Any) -> None:
        """Run an instance and end with its exit code."""
        sys.exit(inner.run(crawl_options.of(options)))
