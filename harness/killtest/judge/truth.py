"""What a perfect crawl must store: the site's own account of its pages, all versions of them."""

import msgspec

# The columns of a row that the truth speaks of; other columns of a store are listed as not judged.
FIELDS = ("sku", "title", "price", "currency", "availability", "image")


class Product(msgspec.Struct, frozen=True):
    """One product: its natural key, the pages that carry it, and its field values by version, oldest first."""

    key: str
    pages: tuple[str, ...]
    versions: tuple[dict[str, str], ...]


class Truth(msgspec.Struct, frozen=True):
    """All products, and the number of page requests that a perfect crawl makes."""

    minimum: int
    rows: tuple[Product, ...]
