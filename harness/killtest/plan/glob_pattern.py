"""Patterns for files below a folder: what can be wrong with one, before anything is looked up."""

from pathlib import Path

_NOWHERE = Path("/nonexistent/killtest")


def flaw(pattern: str) -> str | None:
    """Why nothing can be looked up with this pattern (`images/**.bmp`), in pathlib's words; None when it is sound.

    The empty pattern is sound: who wants none of it says so.
    """
    if not pattern:
        return None
    try:
        list(_NOWHERE.glob(pattern))
    except (ValueError, NotImplementedError) as error:
        return str(error)
    except IndexError:  # of Python 3.11, for the folder itself
        return "it names the folder itself"
    return None
