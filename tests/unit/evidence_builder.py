"""Hand-made evidence: a clean crawl, and ways to damage it."""

from collections.abc import Sequence
from typing import Any

from killtest.judge.evidence import Course, Evidence, FaultRecord, Incarnation, Request
from killtest.judge.truth import Product, Truth
from killtest.store.rows import Row, Value
from killtest.store.snapshot import Snapshot
from msgspec.structs import replace


def fields(number: int, version: int = 0) -> dict[str, str]:
    """What that product's pages show in that version: every field but the natural key changes."""
    title = f"Té {number}" + (f", edition {version + 1}" if version else "")
    return {"sku": f"SKU-{number:05}", "title": title, "price": f"{number}.{version}0"}


def product(number: int, versions: int = 1, pages: int = 1) -> Product:
    """Product NUMBER on so many pages, of which so many versions have been on show."""
    paths = (f"/product/{number}", f"/view/{number}")[:pages]
    return Product(f"SKU-{number:05}", paths, tuple(fields(number, version) for version in range(versions)))


def truth(products: int = 5, versions: int = 1, pages: int = 1) -> Truth:
    """A list page and so many products."""
    return Truth(products * pages + 1, tuple(product(i, versions, pages) for i in range(1, products + 1)))


def row(number: int, version: int = 0, **changes: Value) -> Row:
    """The row that a perfect crawl stores for that product in that version, with `changes`."""
    return Row(f"SKU-{number:05}", {**fields(number, version), **changes}, f"row {number}")


def request(
    seq: int, path: str, incarnation: int = 0, outcome: str = "sent", **changes: float | bool | None
) -> Request:
    """A page request that took 1 ms at second `seq`."""
    facts = {"arrived_s": float(seq), "ended_s": seq + 0.001, "late": False, **changes}
    kind = "page" if path.startswith(("/list", "/product", "/view")) else "other"
    return Request(seq, incarnation, 1, "GET", path, kind, outcome=outcome, **facts)  # type: ignore[arg-type]


def crawl(products: int = 5, incarnation: int = 0, first_seq: int = 1) -> list[Request]:
    """The requests of a perfect crawl."""
    paths = ["/list/0", *(f"/product/{i}" for i in range(1, products + 1))]
    return [request(first_seq + i, path, incarnation) for i, path in enumerate(paths)]


def struck(planned: str = "request:3 KILL", status: str = "struck") -> FaultRecord:
    """A fault that struck incarnation 0, unless `status` says otherwise."""
    return FaultRecord(
        planned,
        status,  # type: ignore[arg-type]
        incarnation=0,
        due_s=0.1,
        struck_s=0.1,
        since_first_request_s=0.05,
        scope="tree",
        in_flight=("/product/2",),
        window="waiting",
    )


def incarnation(number: int = 0, is_again: bool = False, **changes: Any) -> Incarnation:
    """An incarnation of one second that ended by itself with 0, with `changes`."""
    one = Incarnation(number, float(number), number + 1.0, 0, "itself", number + 0.1, is_again)
    return replace(one, **changes)


def evidence(
    *snapshots: list[Row] | Snapshot,
    requests: Sequence[Request] | None = None,
    faults: tuple[FaultRecord, ...] = (),
    again: int = 0,
    is_control: bool = False,
    shop: Truth | None = None,
    **course: object,
) -> Evidence:
    """Evidence of a trial with one incarnation per snapshot, the last `again` of them behind its end."""
    taken = [one if isinstance(one, Snapshot) else Snapshot(number, tuple(one)) for number, one in enumerate(snapshots)]
    proper = len(taken) - again
    incarnations = tuple(incarnation(i, i >= proper) for i in range(len(taken)))
    facts: dict[str, Any] = {"ending": "finished", "incarnations": incarnations, **course}
    told = Course(faults=faults, snapshots=tuple(taken), **facts)
    asked = tuple(crawl() if requests is None else requests)
    return Evidence(told, truth() if shop is None else shop, asked, len(faults), is_control)


CLEAN = [row(i) for i in range(1, 6)]
