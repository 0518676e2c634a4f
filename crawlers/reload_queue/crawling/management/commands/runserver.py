"""`manage.py runserver ADDRESS`: Django's own, for the HTTP service, which needs the queue but no database."""

from __future__ import annotations

from django.core.management.commands import runserver


class Command(runserver.Command):
    """The HTTP service."""

    help = "Run the HTTP service: a status page at / and jobs at /jobs."

    def check_migrations(self) -> None:
        """Not here: looking would create an empty SQLite file, or fail where the database is away."""
