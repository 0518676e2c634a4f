"""Storing rows: an upsert by natural key, so that a page may be stored twice and leave one row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from django.db import InterfaceError, OperationalError, connection, transaction

from crawling.models import Record
from crawling.page import Row

KEY = ("job", "sku")
COLUMNS = ("title", "price", "currency", "availability", "url", "revision")


class Lost(Exception):
    """The task is no longer ours; nothing was stored. The text is the queue's word for it."""


def store(rows: Sequence[Row], job: str, revision: int, check: Callable[[], str]) -> None:
    """Lay the rows over those of the same key, in one transaction; on return they are committed.

    `check` is asked right before the commit and says `ok` while the task is ours: else Lost is raised and nothing
    stored. Raises a django.db.Error as well.
    """
    by_key = {row.sku: row for row in rows}  # a page that shows a product twice: the last one counts
    records = [Record(job=job, revision=revision, **dataclasses.asdict(row)) for row in by_key.values()]
    with transaction.atomic():
        Record.objects.bulk_create(records, update_conflicts=True, unique_fields=KEY, update_fields=COLUMNS)
        if (state := check()) != "ok":
            raise Lost(state)


def has_table() -> bool:
    """Whether `manage.py migrate` was run; closes the connection, which must not outlive a fork."""
    try:
        return Record._meta.db_table in connection.introspection.table_names()
    finally:
        connection.close()


def out_of_reach(error: Exception) -> bool:
    """Whether the database, not the rows, is the trouble. The broken connection is closed: the next use opens one."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    connection.close()
    return True
