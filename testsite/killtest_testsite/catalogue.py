"""What the shop sells: a pure function of the seed.

Nothing is stored. Any product, in any version, is computed in constant time and memory, so that a shop of a
million products starts as fast as one of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

KEY_DIGITS = 5

# Letters beyond ASCII and characters that HTML must escape: a scraper that forgets to decode shows it.
_ADJECTIVES = (
    *("Plain", "Große", "Café", "Señor's", "Left & Right"),
    *("Łódź", "Smørrebrød", '12" wide', "<Tiny>", "Über"),
)
_NOUNS = (
    *("kettle", "lamp", "crème brûlée dish", "chair", "notebook"),
    *("übersack", "clock", "jar", "Ω meter", "teapot"),
)
_CURRENCIES = ("EUR", "USD", "GBP", "CHF", "SEK")
_AVAILABILITIES = ("in stock", "sold out", "2 to 3 days", "on request")

# A step of the price between two versions, in cents: odd, so that no two versions ever share a price.
_PRICE_STEP_CENTS = 101


@dataclass(frozen=True, slots=True)
class Product:
    """One product in one version, as text the way a reader of the page sees it (decoded, not HTML)."""

    number: int
    version: int
    sku: str
    title: str
    price: str
    currency: str
    availability: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All products of a shop: numbers 1 to `products`, made from `seed`."""

    seed: int
    products: int

    def key(self, number: int) -> str:
        """The natural key of a product, `SKU-00007`; the same in every version."""
        width = max(KEY_DIGITS, len(str(self.products)))
        return f"SKU-{number:0{width}d}"

    def product(self, number: int, version: int = 0) -> Product:
        """A product in a version, 0 being the first; two versions differ in every field except the sku.

        Titles and prices never come back; currencies and availabilities are few, so only neighbouring
        versions are sure to differ in them. Raises ValueError for a number outside the catalogue.
        """
        if not 1 <= number <= self.products:
            raise ValueError(f"no product {number}: the catalogue has 1 to {self.products}")
        adjective, noun, cents, currency, availability = _dice(self.seed, number)
        cents = 100 + cents % 99_900 + version * _PRICE_STEP_CENTS
        return Product(
            number=number,
            version=version,
            sku=self.key(number),
            title=_title(adjective, noun, number, version),
            price=f"{cents // 100}.{cents % 100:02d}",
            currency=_CURRENCIES[(currency + version) % len(_CURRENCIES)],
            availability=_AVAILABILITIES[(availability + version) % len(_AVAILABILITIES)],
        )


def fingerprint(seed: int, number: int, purpose: str) -> bytes:
    """64 bytes that look random and depend on nothing but the arguments."""
    return blake2b(f"{seed}/{number}/{purpose}".encode()).digest()


def _dice(seed: int, number: int) -> tuple[int, int, int, int, int]:
    """Five independent large numbers for one product."""
    raw = fingerprint(seed, number, "product")
    a, b, c, d, e = (int.from_bytes(raw[i : i + 8]) for i in range(0, 40, 8))
    return a, b, c, d, e


def _title(adjective: int, noun: int, number: int, version: int) -> str:
    words = f"{_ADJECTIVES[adjective % len(_ADJECTIVES)]} {_NOUNS[noun % len(_NOUNS)]} {number}"
    return words if version == 0 else f"{words}, edition {version + 1}"
