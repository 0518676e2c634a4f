"""Which pages the shop has, how they are linked, and which path leads to which page. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Shape = Literal["pages", "star", "chain", "two_page"]
NextPlace = Literal["first", "last"]
PageKind = Literal["list", "product", "view"]

SHAPES: tuple[Shape, ...] = get_args(Shape)
NEXT_PLACES: tuple[NextPlace, ...] = get_args(NextPlace)

# Only the canonical spelling of a number is a page: /product/07 would be a second URL for the same page.
_PATH = re.compile(r"/(list|product|view|image)/(0|[1-9][0-9]{0,11})")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the shop: list pages are numbered from 0, products and their views from 1."""

    kind: PageKind
    number: int

    @property
    def product(self) -> int | None:
        """The number of the product whose fields the page carries; None for a list page."""
        return None if self.kind == "list" else self.number


@dataclass(frozen=True, slots=True)
class Layout:
    """The pages of a shop and the links between them. Raises ValueError for a size that makes no shop."""

    products: int = 500
    list_pages: int = 25
    shape: Shape = "pages"
    next_place: NextPlace = "last"

    def __post_init__(self) -> None:
        if self.products < 1:
            raise ValueError(f"--products {self.products}: a shop needs at least one product")
        if self.list_pages < 1:
            raise ValueError(f"--list-pages {self.list_pages}: a shop needs at least one list page")
        if self.list_pages > self.products and self.shape in ("pages", "two_page"):
            raise ValueError(
                f"--list-pages {self.list_pages} with --products {self.products}: some list pages would be"
                " empty; ask for fewer list pages or more products"
            )

    @property
    def lists(self) -> int:
        """How many list pages there really are: star and chain have `/list/0` alone."""
        return self.list_pages if self.shape in ("pages", "two_page") else 1

    @property
    def minimum(self) -> int:
        """The page requests of a perfect crawl from `/list/0`: every page exactly once."""
        return self.lists + self.products * (2 if self.shape == "two_page" else 1)

    def on_list(self, number: int) -> range:
        """The products linked from a list page; they are spread evenly, in order."""
        if self.shape == "chain":
            return range(1, 2)
        first = number * self.products // self.lists + 1
        return range(first, (number + 1) * self.products // self.lists + 1)

    def next_list(self, number: int) -> int | None:
        """The list page that follows, or None after the last."""
        return number + 1 if number + 1 < self.lists else None

    def next_product(self, number: int) -> int | None:
        """The product that a product page links to: only a chain has such links."""
        return number + 1 if self.shape == "chain" and number < self.products else None

    def pages_of(self, number: int) -> list[str]:
        """The paths of the pages that carry a product's fields."""
        paths = [f"/product/{number}"]
        return [*paths, f"/view/{number}"] if self.shape == "two_page" else paths

    def page(self, path: str) -> Page | None:
        """The page at a path (without the query), or None where there is no page: images are none."""
        match = _PATH.fullmatch(path)
        if match is None:
            return None
        kind, number = match[1], int(match[2])
        if kind == "list" and number < self.lists:
            return Page("list", number)
        if kind == "product" and self._sold(number):
            return Page("product", number)
        if kind == "view" and self.shape == "two_page" and self._sold(number):
            return Page("view", number)
        return None

    def pictured(self, path: str) -> int | None:
        """The product whose fields or picture a path shows, or None: `/product/7`, `/view/7`, `/image/7`."""
        page = self.page(path)
        if page is not None:
            return page.product
        match = _PATH.fullmatch(path)
        if match is None or match[1] != "image" or not self._sold(int(match[2])):
            return None
        return int(match[2])

    def _sold(self, number: int) -> bool:
        return 1 <= number <= self.products
