"""The announcements that the subject made at the webhook, against its rows. Pure.

What an idempotency key does is worked out here anew, from the log alone: the log of an explored crash point is put
together from two sites, of which the second never saw the keys of the first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from killtest.judge.flaw import flaw_of, versions_of
from killtest.judge.request_log import Delivery, Request
from killtest.judge.truth import Product
from killtest.plan.effects import WebhookNeeds
from killtest.store.rows import Row, row_of

_ANOTHER_BODY = 422  # what the site says when it has seen the key; the log tells as much without it
_REFUSED = 300
_IN_PLACE = ("status:", "redirect:")  # what was planned, by its name in the log


class Announced(msgspec.Struct, frozen=True):
    """What was accepted: how often each body, which versions of each key; what was wrong; what was deduplicated."""

    bodies: Counter[tuple[str, str]]
    versions: dict[str, set[int]]
    wrong: dict[str, str]
    deduplicated: int


def announced(
    requests: Iterable[Request], needs: WebhookNeeds, products: Sequence[Product], numbers: Mapping[str, int]
) -> Announced:
    """All that arrived at the webhook, in order."""
    bodies, versions = Counter[tuple[str, str]](), dict[str, set[int]]()
    wrong: dict[str, str] = {}
    seen: dict[str, str] = {}
    deduplicated = 0
    for request in requests:
        if request.hook is None or _is_turned_away(request):
            continue
        refusal = _refusal(request.hook, seen)
        if refusal is not None:
            wrong.setdefault(_name(request, needs), refusal)
        elif _is_again(request.hook, seen):
            deduplicated += 1
        else:
            key, canonical, row = _read(request.hook, needs)
            bodies[key, canonical] += 1
            product = products[numbers[key]] if key in numbers else None
            fault = _fault(row, product)
            if fault is not None or product is None:
                wrong.setdefault(key or f"request {request.seq}", fault or "")
            else:
                versions.setdefault(key, set()).update(versions_of(row.values, product))
    return Announced(bodies, versions, wrong, deduplicated)


def judge(
    found: Announced, rows: Mapping[str, Row], products: Sequence[Product], numbers: Mapping[str, int]
) -> dict[str, dict[str, str]]:
    """What was announced twice, never (of the stored `rows`), and wrongly."""
    twice: dict[str, str] = {}
    for (key, _), times in found.bodies.items():
        if times > 1 and key not in found.wrong:
            twice[key] = f"accepted {times} times"
    never = {key: said for key, row in rows.items() if (said := _silence(key, row, found, products[numbers[key]]))}
    return {"twice": twice, "never": never, "wrong": found.wrong}


def _silence(key: str, row: Row, found: Announced, product: Product) -> str | None:
    """Why a stored row was not announced; None when it was, also by an announcement that is named as wrong."""
    if key in found.wrong:
        return None
    told = found.versions.get(key)
    if told is None:
        return "never announced"
    stored = versions_of(row.values, product)
    # A row that equals no version is corrupted, and which announcement would be its own can't be said.
    if not stored or told & set(stored):
        return None
    return f"version {max(stored)} stored, version {max(told)} announced"


def _is_turned_away(request: Request) -> bool:
    """Whether a planned error page or redirect took the answer's place: to its sender it was not accepted."""
    if any(name.startswith(_IN_PLACE) for name in request.misbehaviour):
        return True
    status = request.status
    is_own = request.hook is None or request.hook.body is None or status == _ANOTHER_BODY
    return status is not None and status >= _REFUSED and not is_own


def _refusal(hook: Delivery, seen: Mapping[str, str]) -> str | None:
    if hook.body is None:
        return "no JSON object, or too large"
    if hook.idempotency_key is not None and seen.get(hook.idempotency_key, hook.sha256) != hook.sha256:
        return f"its Idempotency-Key {hook.idempotency_key} came with another body before"
    return None


def _is_again(hook: Delivery, seen: dict[str, str]) -> bool:
    if hook.idempotency_key is None:
        return False
    is_again = hook.idempotency_key in seen
    seen[hook.idempotency_key] = hook.sha256
    return is_again


def _name(request: Request, needs: WebhookNeeds) -> str:
    hook = request.hook
    key = "" if hook is None or hook.body is None else _read(hook, needs)[0]
    return key or f"request {request.seq}"


def _read(hook: Delivery, needs: WebhookNeeds) -> tuple[str, str, Row]:
    """The natural key ("" without one), what does not vary of the body in one spelling, and its columns as a row."""
    body: dict[str, Any] = msgspec.json.decode(hook.body or "{}")
    lasting = {name: value for name, value in body.items() if name not in needs.varying}
    canonical = msgspec.json.encode(lasting, order="deterministic").decode()
    row = row_of(body | {"key": body.get(needs.key)}, "")
    return row.key or "", canonical, row


def _fault(row: Row, product: Product | None) -> str | None:
    """What is wrong with an announcement; a version that was served some time is right."""
    if product is None:
        return "no page carries that key" if row.key else "no key"
    flaw = flaw_of(row.values, product, served=0)
    return None if flaw is None else flaw.detail
