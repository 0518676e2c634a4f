"""The counters that the subject keeps, against its own rows. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from killtest.judge.flaw import text_of
from killtest.store.rows import Row, Value

ROWS = "rows"


def judge(
    stored: Mapping[str, Value], before: Iterable[Mapping[str, Value]], rows: Sequence[Row]
) -> dict[str, dict[str, str]]:
    """What is wrong with the counters at the end; `before` are those after earlier incarnations.

    A counter is `rows` or `FIELD=VALUE`. Missing is `rows` when it was there earlier, and a value that rows hold in a
    field of which some value was ever counted. One that no row holds needs no counter: a query that groups has none.
    """
    if not stored:
        return {"wrong": {}, "missing": {"(all)": "no counter is stored"}}
    earlier = {name for counters in before for name in counters}
    fields = {name.partition("=")[0] for name in stored.keys() | earlier if "=" in name}
    expected = _counted(rows, fields)
    wrong = {name: said for name, value in stored.items() if (said := _fault(name, value, expected, rows))}
    wanted = expected | ({ROWS: len(rows)} if ROWS in earlier else {})
    missing = {name: f"the rows: {wanted[name]}" for name in sorted(wanted) if name not in stored}
    return {"wrong": wrong, "missing": missing}


def _counted(rows: Sequence[Row], fields: set[str]) -> dict[str, int]:
    """How many rows there are of each value of those fields; NULL is no value."""
    counts: dict[str, int] = {}
    for row in rows if fields else ():
        for field in fields & row.values.keys():
            if row.values[field] is None:
                continue
            name = f"{field}={text_of(row.values[field])}"
            counts[name] = counts.get(name, 0) + 1
    return counts


def _fault(name: str, value: Value, expected: Mapping[str, int], rows: Sequence[Row]) -> str | None:
    if name != ROWS and "=" not in name:
        return "neither `rows` nor FIELD=VALUE"
    should = len(rows) if name == ROWS else expected.get(name, 0)
    return None if _number(value) == should else f"it says {text_of(value)}, the rows: {should}"


def _number(value: Value) -> Decimal | None:
    try:
        number = Decimal(text_of(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None  # one that is not raises when it is compared
