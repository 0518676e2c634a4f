"""The spiders: modules of the folder `spiders`, by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, cast

from crawling.page import Follow, Page, Row

FOLDER = Path(__file__).resolve().parents[1] / "spiders"


class Spider(Protocol):
    """What a module in `spiders` has. REVISION may be missing: then it is 0."""

    REVISION: int

    def parse(self, page: Page) -> Iterable[Row | Follow]:
        """The rows and further pages that a page yields."""


def names() -> list[str]:
    """The known spiders, in alphabetical order; nothing is imported, so a broken one is known as well."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def load(name: str) -> Spider:
    """A spider's module. Raises whatever importing it raises, and TypeError when it has no `parse`."""
    module = importlib.import_module(f"spiders.{name}")
    if not callable(getattr(module, "parse", None)):
        raise TypeError(f"{module.__file__} has no function parse(page)")
    return cast("Spider", module)
