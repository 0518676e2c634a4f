"""Hand-made evidence: a clean crawl, and ways to damage it."""

from killtest.judge.evidence import Course, Evidence, FaultRecord, Incarnation, Request
from killtest.judge.truth import Product, Truth
from killtest.store.rows import Row
from killtest.store.snapshot import Snapshot


def product(number: int, versions: int = 1) -> Product:
    """Product NUMBER with that many versions of its price."""
    fields = [{"sku": f"SKU-{number:05}", "title": f"Té {number}", "price": f"{number}.{v}0"} for v in range(versions)]
    return Product(f"SKU-{number:05}", (f"/product/{number}",), tuple(fields))


def truth(products: int = 5) -> Truth:
    """A list page and so many products."""
    return Truth(products + 1, tuple(product(i) for i in range(1, products + 1)))


def row(number: int, place: str = "", **changes: str | None) -> Row:
    """The row that a perfect crawl stores for that product, with `changes`."""
    values: dict[str, str | None] = {**product(number).versions[0], **changes}
    return Row(f"SKU-{number:05}", dict(values), place or f"row {number}")


def request(seq: int, path: str, incarnation: int = 0, outcome: str = "sent", **changes: float | bool) -> Request:
    """A page request that took 1 ms at second `seq`."""
    fields = {"arrived_s": float(seq), "ended_s": seq + 0.001, "late": False, **changes}
    kind = "page" if path.startswith(("/list", "/product", "/view")) else "other"
    return Request(seq, incarnation, 1, "GET", path, kind, outcome=outcome, **fields)  # type: ignore[arg-type]


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


def incarnation(number: int = 0, is_again: bool = False) -> Incarnation:
    """An incarnation of one second that ended by itself with 0."""
    return Incarnation(number, float(number), number + 1.0, 0, "itself", number + 0.1, is_again)


def evidence(
    *snapshots: list[Row] | Snapshot,
    requests: list[Request] | None = None,
    faults: tuple[FaultRecord, ...] = (),
    again: int = 0,
    is_control: bool = False,
    **course: object,
) -> Evidence:
    """Evidence of a trial with one incarnation per snapshot, the last `again` of them behind its end."""
    taken = [one if isinstance(one, Snapshot) else Snapshot(number, tuple(one)) for number, one in enumerate(snapshots)]
    proper = len(taken) - again
    incarnations = tuple(incarnation(i, i >= proper) for i in range(len(taken)))
    fields = {"ending": "finished", **course}
    told = Course(incarnations=incarnations, faults=faults, snapshots=tuple(taken), **fields)  # type: ignore[arg-type]
    asked = tuple(crawl() if requests is None else requests)
    return Evidence(told, truth(), asked, len(faults), is_control)


CLEAN = [row(i) for i in range(1, 6)]
