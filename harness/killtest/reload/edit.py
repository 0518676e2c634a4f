"""Edits of one file of a subject's code: text in, text out. Pure; bytes, so that no encoding is touched."""

import re

_BROKEN = b")killtest broke this line"
# A line of its own, as `REVISION = 3` or `REVISION = 3  # …`, in Python or whatever else calls it so. A byte order mark
# may stand before the first line.
_REVISION = re.compile(rb"^((?:\xef\xbb\xbf)?REVISION = )([0-9]{1,18})(?![0-9])", re.MULTILINE)


def edited(kind: str, text: bytes) -> bytes:
    """The file's new text after the edit `kind` (plan/fault_text.py, RELOADS); `touch` changes no text.

    What `broken` does to a file, `mended` undoes to the byte.
    """
    match kind:
        case "whitespace":
            return text + (b"\n" if _ends_a_line(text) else b"\n\n")
        case "change":
            return _REVISION.sub(lambda found: found[1] + str(int(found[2]) + 1).encode(), text)
        case "broken":
            return text + (_BROKEN + b"\n" if _ends_a_line(text) else b"\n" + _BROKEN)
        case "mended":
            return _mended(text)
        case _:
            return text


def revision_of(text: bytes) -> int | None:
    """The highest N of the lines `REVISION = N`; None without one."""
    return max((int(found[2]) for found in _REVISION.finditer(text)), default=None)


def _mended(text: bytes) -> bytes:
    # Broken at its end; the subject itself, or a second edit, may have added to it since.
    if text.endswith(b"\n" + _BROKEN):
        return text.removesuffix(b"\n" + _BROKEN)
    return text.replace(_BROKEN + b"\n", b"")


def _ends_a_line(text: bytes) -> bool:
    return not text or text.endswith(b"\n")
