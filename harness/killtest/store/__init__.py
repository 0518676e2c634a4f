"""Readers: what a store holds, read from a copy, so that looking at a killed store never changes it."""

from pathlib import Path

from killtest.errors import StoreError
from killtest.plan.manifest import StoreNeeds
from killtest.store import csv_table, files, json_array, jsonl, postgres, sqlite
from killtest.store.rows import Rows

__all__ = ["Rows", "read"]


def read(needs: StoreNeeds, folder: Path, scratch: Path, server: str | None = None) -> Rows | None:
    """The rows stored below `folder`; None while the store's file does not exist.

    Nothing in `folder` is opened for writing: the reader works on a copy in `scratch`, an existing empty
    folder that the caller removes. A store in PostgreSQL is read on the trial's `server`, by its address. StoreError
    when what is there can't be read.
    """
    key = needs.key or ""
    try:
        match needs.reader:
            case "sqlite":
                return sqlite.read(folder / needs.path, needs.query or "", scratch)
            case "postgres":
                return postgres.read(server or "", needs.query or "")
            case "files":
                return files.read(folder, needs)
            case "csv":
                return csv_table.read(folder, needs.path, key, needs.delimiter)
            case "json":
                return json_array.read(folder, needs.path, key)
            case _:
                return jsonl.read(folder, needs.path, key)
    except OSError as error:
        raise StoreError(f"store {needs.path}: {error}") from error
