"""What the shop shows at this moment: the catalogue plus the versions that bumps have moved on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from .catalogue import Catalogue, Product
from .image import image
from .layout import Layout


@dataclass(slots=True)
class Stock:
    """The products as they are served now. The only state is the version of each product ever bumped."""

    catalogue: Catalogue
    layout: Layout
    _versions: dict[int, int] = field(default_factory=dict)

    def version(self, number: int) -> int:
        """The version of a product that is served now."""
        return self._versions.get(number, 0)

    def product(self, number: int) -> Product:
        """A product as it is served now; ValueError when there is no such product."""
        return self.catalogue.product(number, self.version(number))

    def image(self, number: int) -> bytes:
        """The bytes of a product's picture as it is served now."""
        return image(self.catalogue.seed, number, self.version(number))

    def bump(self, path: str) -> int:
        """Put the next version of the product at `path` on show; returns the version.

        All pages of a product and its picture move on together. ValueError for a path without a product.
        """
        number = self.layout.pictured(path)
        if number is None:
            raise ValueError(f"{path} shows no product: bump a path such as /product/1")
        self._versions[number] = self.version(number) + 1
        return self._versions[number]

    def truth(self) -> Iterator[dict[str, Any]]:
        """What a perfect crawl must store: a row for each product, with every version shown so far."""
        for number in range(1, self.catalogue.products + 1):
            versions = range(self.version(number) + 1)
            yield {
                "key": self.catalogue.key(number),
                "pages": self.layout.pages_of(number),
                "versions": [self._row(number, version) for version in versions],
            }

    def _row(self, number: int, version: int) -> dict[str, str]:
        product = self.catalogue.product(number, version)
        return {
            "sku": product.sku,
            "title": product.title,
            "price": product.price,
            "currency": product.currency,
            "availability": product.availability,
            "image": f"/image/{number}",
            "image_sha256": sha256(image(self.catalogue.seed, number, version)).hexdigest(),
        }
