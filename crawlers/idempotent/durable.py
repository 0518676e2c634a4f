"""Files that a kill leaves whole or absent, and a power cut too.

A power cut keeps what was synced and may drop the rest, in any order: a name may outlive its content and a content
its name. So the content is synced before it gets its name, and the folder, which holds the name, after that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileError(Exception):
    """A file can't be written or read; the text says which and why."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError inside becomes a FileError that names the path: a failed write alone does not say of what."""
    try:
        yield
    except OSError as error:
        raise named(path, error) from error


def named(path: Path, error: OSError) -> FileError:
    """The error with the path that it is about."""
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return FileError(f"{path.absolute()}: {error.strerror} ({name})")


def replace(path: Path, temporary: Path, content: bytes) -> None:
    """Put `content` at `path`: all of it or nothing; `temporary` is a path of the caller's own in the same folder.

    FileNotFoundError when somebody took the temporary file away, FileError for all else.
    """
    with naming(temporary), temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        temporary.replace(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise named(path, error) from error
    sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make the folder where there is none, in such a way that it is there after a power cut."""
    with naming(path):
        path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    with naming(path):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
