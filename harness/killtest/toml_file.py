"""Read a TOML file into typed data, with errors that name the file and the place in it."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from killtest.errors import UsageError

T = TypeVar("T")


def load(path: Path) -> dict[str, Any]:
    """The table in the file; UsageError with file and line when it can't be read or is no TOML."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None


def convert(table: dict[str, Any], kind: type[T], source: str) -> T:
    """The table as `kind`; UsageError names `source` and the field that is missing, unknown or of another type."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {error}") from None
