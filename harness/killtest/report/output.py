"""Files that a report writes: each appears whole or not at all."""

import os
import tempfile
from pathlib import Path

from killtest.errors import UsageError


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file whole: a reader, or a crash, sees the old content or the new one.

    Raises UsageError when the folder can't be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
