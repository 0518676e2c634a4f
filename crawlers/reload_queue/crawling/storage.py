"""Storing rows: an upsert by natural key, so that a page may be stored twice and leave one row."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from django.db import InterfaceError, OperationalError, connection, transaction

from crawling.models import Record
from crawling.page import Row

KEY = ("job", "sku")
STALE_S = 0.25  # an answer of the queue older than that is asked for anew
COLUMNS = ("title", "price", "currency", "availability", "url", "revision")


class Lost(Exception):
    """The task is no longer ours; nothing was stored. The text is the queue's word for it."""


def store(rows: Sequence[Row], job: str, revision: int, check: Callable[[], str]) -> None:
    """Lay the rows over those of the same key, in one transaction; on return they are committed.

    `check` is asked before the rows are written and says `ok` while the task is ours: else Lost is raised and nothing
    stored. Raises a django.db.Error as well.
    """
    by_key = {row.sku: row for row in rows}  # a page that shows a product twice: the last one counts
    records = [Record(job=job, revision=revision, **dataclasses.asdict(row)) for row in by_key.values()]
    # Not inside the transaction: there all other workers would wait for the answer, SQLite having one writer.
    _insist(check)
    asked_s = time.monotonic()
    with transaction.atomic():
        if time.monotonic() - asked_s > STALE_S:
            _insist(check)
        Record.objects.bulk_create(records, update_conflicts=True, unique_fields=KEY, update_fields=COLUMNS)


def _insist(check: Callable[[], str]) -> None:
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
