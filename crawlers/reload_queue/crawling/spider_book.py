"""The spiders: modules of the folder `spiders`, by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, cast

from crawling.page import Follow, Page, Row

NAME = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_-]{0,79}")
FOLDER = Path(__file__).resolve().parents[1] / "spiders"


class Spider(Protocol):
    """What a module in `spiders` has. REVISION may be missing: then it is 0."""

    REVISION: int

    def parse(self, page: Page) -> Iterable[Row | Follow]:
        """The rows and further pages that a page yields."""


def names() -> list[str]:
    """The known spiders, in alphabetical order; nothing is imported, so a broken one is known as well.

    A file with a name that could not begin a job's id is none.
    """
    return sorted(path.stem for path in FOLDER.glob("*.py") if NAME.fullmatch(path.stem) and path.is_file())


def load(name: str) -> Spider:
    """A spider's module. Raises whatever importing it raises, and TypeError when it has no `parse`."""
    try:
        module = importlib.import_module(f"spiders.{name}")
    except SystemExit as error:  # it would end whoever imports it, as if in order
        raise ImportError(f"it ends the program with {error.code}").with_traceback(error.__traceback__) from None
    if not callable(getattr(module, "parse", None)):
        raise TypeError(f"{module.__file__} has no function parse(page)")
    return cast("Spider", module)
