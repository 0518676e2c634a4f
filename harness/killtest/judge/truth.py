"""What a perfect crawl must store: the site's own account of its pages, all versions of them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from killtest.pieces import Pieces

# The columns of a row that the truth speaks of; other columns of a store are listed as not judged.
FIELDS = ("sku", "title", "price", "currency", "availability", "image")
_HEAD_BYTES = 64
_HEAD = re.compile(
    rb'\{"minimum":(\d+),(?:"groups":(\d+),)?(?:"lists":(\{[^{}]*\}),)?"rows":\[(?=\{"key":)',
)
_BLOCK_BYTES = 262_144


class Product(msgspec.Struct, frozen=True, omit_defaults=True):
    """One product: its natural key, the pages that carry it, and its field values by version, oldest first.

    For subjects with effects also, by version, the digests of its pages by path and its picture, packed
    (docs/site-protocol.md).
    """

    key: str
    pages: tuple[str, ...]
    versions: tuple[dict[str, str], ...]
    page_sha256: tuple[dict[str, str], ...] = ()
    pictures: tuple[str, ...] = ()


class Truth(msgspec.Struct, frozen=True, omit_defaults=True):
    """All products, and the number of page requests that a perfect crawl makes.

    With `groups` the shop is crawled so many times, once for each group: every product is there once for each.
    `lists` are the digests of the list pages by path, for subjects with effects.
    """

    minimum: int
    rows: Sequence[Product]
    groups: int = 1
    lists: dict[str, str] = {}


_decode = msgspec.json.Decoder(Product).decode


class Shelf(Pieces[Product]):
    """The products of a truth on disk, read anew whenever they are asked for, and the number of each key."""

    def __init__(self, path: Path) -> None:
        """An empty one."""
        super().__init__(path, _decode)
        self.numbers: dict[str, int] = {}

    def put(self, offset: int, text: bytes) -> None:
        """One more product: where it stands, and its bytes. msgspec.DecodeError when they are damaged."""
        self.numbers[_decode(text).key] = len(self)
        self.add(offset, len(text))


def numbers_of(products: Sequence[Product]) -> dict[str, int]:
    """The place of each product in the truth, by its key."""
    if isinstance(products, Shelf):
        return products.numbers
    return {product.key: number for number, product in enumerate(products)}


def to_json(truth: Truth) -> bytes:
    """The truth as it is stored; `groups` and `lists` stand in front of the rows, for `read` to find them there."""
    head: dict[str, object] = {"minimum": truth.minimum}
    head |= {"groups": truth.groups} if truth.groups > 1 else {}
    head |= {"lists": truth.lists} if truth.lists else {}
    return msgspec.json.encode(head | {"rows": truth.rows}) + b"\n"


def read(path: Path) -> Truth:
    """The truth in a trial's folder. OSError or msgspec.DecodeError when there is none, or it is damaged."""
    with path.open("rb") as file:
        begin = file.read(_HEAD_BYTES)
        while b'"lists":' in begin and b'"rows":[{"key":' not in begin and (more := file.read(_BLOCK_BYTES)):
            begin += more
        head = _HEAD.match(begin)
        if head is None:
            # Without products, or not as we write it.
            return msgspec.json.decode(path.read_bytes(), type=Truth)
        shelf, at = Shelf(path), head.end()
        file.seek(at)
        for text in _products(file):
            shelf.put(at, text)
            at += len(text) + len(b",")
    return Truth(int(head[1]), shelf, int(head[2] or 1), msgspec.json.decode(head[3] or b"{}", type=dict[str, str]))


def _products(file: BinaryIO) -> Iterator[bytes]:
    """The products of the list that begins here, one after another: the file is one line of hundreds of megabytes.

    What is looked for stands between two products only: in a text of JSON a quote has a backslash before it.
    msgspec.DecodeError when the file ends before its list does.
    """
    begin, rest = b"", b""
    while block := file.read(_BLOCK_BYTES):
        *whole, rest = (rest + block).split(b']},{"key":')
        for text in whole:
            yield begin + text + b"]}"
            begin = b'{"key":'
    last, end, tail = rest.rpartition(b"]}")
    if not end or tail.strip():
        raise msgspec.DecodeError("the list of products has no end")
    yield begin + last
