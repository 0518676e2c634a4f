"""A clean crawl with all four effects, made of the shop's own pages and pictures, and ways to damage it."""

from hashlib import sha256
from typing import Any

import msgspec
from evidence_builder import evidence, request
from killtest.judge.evidence import Evidence, Request
from killtest.judge.request_log import Delivery
from killtest.judge.truth import Truth
from killtest.plan.effects import CaptureNeeds, CounterNeeds, EffectNeeds, FileNeeds, WebhookNeeds
from killtest.store.effects import Capture, StoredEffects, StoredFile
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot
from killtest_testsite import served
from killtest_testsite.catalogue import Catalogue
from killtest_testsite.image import image
from killtest_testsite.layout import Layout
from killtest_testsite.stock import Stock

PRODUCTS = 5
SEED = 1
FILES = FileNeeds("images/*.bmp")
KEYED = FileNeeds("images/*.bmp", key=r"images/(.+)\.bmp")
ALL = EffectNeeds(
    FILES,
    WebhookNeeds("sku"),
    CounterNeeds("json", "counters.json"),
    CaptureNeeds("jsonl", "captures.jsonl"),
)


def shop(bumped: int | None = None, shape: Any = "pages") -> Truth:
    """The truth of a shop of five products, of which one may have a second version on show."""
    stock = Stock(Catalogue(SEED, PRODUCTS), Layout(PRODUCTS, 1, shape))
    if bumped is not None:
        stock.bump(f"/product/{bumped}")
    rows = list(served.with_effects(stock))
    return msgspec.convert({"minimum": 6, "rows": rows, "lists": served.lists(stock)}, Truth)


def key(number: int) -> str:
    """The natural key of a product."""
    return f"SKU-{number:05}"


def picture(number: int, version: int = 0) -> bytes:
    """Its picture."""
    return image(SEED, number, version)


def stored(name: str, data: bytes, of: str | None = None) -> StoredFile:
    """A file of these bytes."""
    return StoredFile(f"images/{name}.bmp", len(data), sha256(data).hexdigest(), of)


def file(number: int, version: int = 0, is_keyed: bool = False) -> StoredFile:
    """Its picture as a file named by its key, or by its content."""
    data = picture(number, version)
    name = key(number) if is_keyed else sha256(data).hexdigest()
    return stored(name, data, key(number) if is_keyed else None)


def values(truth: Truth, number: int, version: int = 0) -> dict[str, Any]:
    """The fields of a row."""
    return {name: truth.rows[number - 1].versions[version][name] for name in ("sku", "title", "price", "availability")}


def hook(seq: int, body: dict[str, Any] | str | None, idem: str | None = None, **changes: Any) -> Request:
    """A delivery at the webhook; None is what is no JSON object."""
    text = body if isinstance(body, str) else msgspec.json.encode(body).decode()
    said = Delivery(sha256(text.encode()).hexdigest(), idem, None if body is None else text)
    asked = request(seq, "/hook", **{"incarnation": 0, "outcome": "sent", **changes})
    return msgspec.structs.replace(asked, method="POST", hook=said, status=changes.get("status", 202))


def fetch(seq: int, number: int, version: int = 0, **changes: Any) -> Request:
    """A request for a picture."""
    return request(seq, f"/image/{number}", version=version, **{"status": 200, **changes})


def capture(truth: Truth, number: int, place: str, version: int = 0) -> Capture:
    """A page as it was served."""
    path = f"/product/{number}"
    return Capture(place, path, truth.rows[number - 1].page_sha256[version][path])


class Crawl(msgspec.Struct):
    """A trial of one incarnation that can be changed before it is judged."""

    truth: Truth
    rows: list[Row]
    files: list[StoredFile]
    counters: dict[str, Any]
    captures: list[Capture]
    requests: list[Request]
    torn: tuple[str, ...] = ()
    unreadable: dict[str, str] = {}
    needs: EffectNeeds = ALL

    @property
    def evidence(self) -> Evidence:
        """What the judge is given."""
        held = StoredEffects(tuple(self.files), self.counters, tuple(self.captures), self.torn, self.unreadable)
        found = evidence(Snapshot(0, tuple(self.rows), effects=held), requests=self.requests, shop=self.truth)
        return msgspec.structs.replace(found, effects=self.needs)


def clean(is_keyed: bool = False, bumped: int | None = None) -> Crawl:
    """A perfect crawl that stored all, announced all, counted all and kept all."""
    truth = shop(bumped)
    numbers = range(1, PRODUCTS + 1)
    rows = [Row(key(number), values(truth, number), f"row {number}") for number in numbers]
    counters: dict[str, Any] = {"rows": PRODUCTS}
    for row in rows:
        name = f"availability={row.values['availability']}"
        counters[name] = counters.get(name, 0) + 1
    pages = [request(number + 1, f"/product/{number}") for number in numbers]
    return Crawl(
        truth=truth,
        rows=rows,
        files=[file(number, is_keyed=is_keyed) for number in numbers],
        counters=counters,
        captures=[
            Capture("line 1", "/list/0", truth.lists["/list/0"]),
            *(capture(truth, number, f"line {number + 1}") for number in numbers),
        ],
        requests=[
            request(1, "/list/0"),
            *pages,
            *(fetch(number + 6, number) for number in numbers),
            *(hook(number + 11, values(truth, number), f"{key(number)}-0") for number in numbers),
        ],
        needs=msgspec.structs.replace(ALL, files=KEYED if is_keyed else FILES),
    )
