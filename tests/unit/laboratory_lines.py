"""Lines of the ledger as the campaign `jobdir` writes them, with the article's own figures in them."""

from __future__ import annotations

from typing import Any

SLOT = "requests.queue/127.0.0.1-f528764d624db129b32c21fbca0cb8d6"


def incarnation(
    number: int, requests: int, start_page: int, jobdir: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    """One start; it ended by itself with 0 unless `more` says otherwise."""
    plain = {"exit": 0, "ended_by": "itself", "again": False, "started_s": 0.0, "ended_s": 1.0}
    return {"number": number, "requests": requests, "start_page": start_page, "jobdir": jobdir, **plain, **more}


def jobdir(**changes: Any) -> dict[str, Any]:
    """An inspected JOBDIR: the article's after one Ctrl-C, with `changes`."""
    queue = {"path": f"{SLOT}/0", "kind": "fifo", "slot": "127.0.0.1", "priority": 0, "start": False, "listed": True}
    files = {"requests.seen": 902, "spider.state": 135, "requests.queue/active.json": 18}
    return {
        "files": files | {f"{SLOT}/0/info.json": 73, f"{SLOT}/0/q00000": 10510},
        "fingerprints": 41,
        "cut_bytes": 0,
        "index": {"127.0.0.1": [0]},
        "queues": [queue | {"records": 40, "pending": 22, "believed": 22}],
        "state": {"count": 18, "urls": 18},
        "findings": [],
        "resume": {"loads": 22, "forgets": 0, "words": []},
        "stats": {"scheduler/enqueued": 41, "scheduler/dequeued": 19, "finish_reason": "shutdown"},
    } | changes


def emptied(**changes: Any) -> dict[str, Any]:
    """The article's JOBDIR after the resume."""
    return (
        jobdir(
            files={"requests.seen": 902, "spider.state": 267, "requests.queue/active.json": 2},
            index={},
            queues=[],
            state={"count": 40, "urls": 40},
            stats={"dupefilter/filtered": 1, "scheduler/dequeued": 22, "finish_reason": "finished"},
        )
        | changes
    )


def line(variant: str | None, schedule: str, incarnations: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    """A judged trial of scrapy_jobdir; `facts` are missing, repeated, overlap, products, ending, outcome, subject."""
    missing, products = facts.get("missing", 0), facts.get("products", 40)
    nothing = {"count": 0, "keys": {}}
    group = schedule.rsplit("-", 1)[0] if schedule.startswith("flush") else schedule
    subject = facts.get("subject", "scrapy_jobdir")
    return {
        "id": f"{subject}.{variant}--{schedule}",
        "campaign": "jobdir",
        "subject": subject,
        "variant": variant,
        "schedule": {"name": schedule, "group": group, "faults": ["request:19 INT"]},
        "control": False,
        "outcome": facts.get("outcome", "FAIL" if missing else "PASS"),
        "ending": facts.get("ending", "finished"),
        "data": {
            "rows": products - missing,
            "distinct": products - missing,
            "products": products,
            "false_done": bool(missing),
            "lost": nothing,
            "missed": {"count": missing, "keys": {}},
            **dict.fromkeys(("corrupted", "duplicated", "stale", "unexpected"), nothing),
        },
        "traffic": {"repeated": facts.get("repeated", 0), "overlap": facts.get("overlap", 0)},
        "incarnations": incarnations,
    }


def clean_stop(variant: str = "article", schedule: str = "article-INT") -> dict[str, Any]:
    """One Ctrl-C, the resume, and one start more."""
    third = emptied(stats={"dupefilter/filtered": 1, "finish_reason": "finished"})
    starts = [incarnation(0, 19, 1, jobdir(), ended_by="fault"), incarnation(1, 22, 0, emptied())]
    return line(variant, schedule, [*starts, incarnation(2, 0, 0, third, again=True)])


def start_urls() -> dict[str, Any]:
    """The same with Scrapy's own start requests."""
    third = emptied(stats={"dupefilter/filtered": 40, "finish_reason": "finished"})
    starts = [incarnation(0, 19, 1, jobdir(), ended_by="fault"), incarnation(1, 23, 1, emptied())]
    starts.append(incarnation(2, 1, 1, third, again=True))
    return line("article_start_urls", "article-INT", starts, repeated=1, overlap=1)


def killed() -> dict[str, Any]:
    """kill -9 behind 22 pages."""
    files = {"requests.seen": 0, f"{SLOT}/0/q00000": 10510}
    first = jobdir(files=files, fingerprints=0, index=None, stats=None)
    second = emptied(stats={"scheduler/dequeued": 41})
    starts = [incarnation(0, 23, 1, first, ended_by="fault", exit=-9), incarnation(1, 41, 1, second)]
    return line("article", "article-KILL", starts, repeated=23, overlap=23)


def locked() -> dict[str, Any]:
    """A lock in the meta of each request."""
    stats = {"scheduler/unserializable": 40, "scheduler/enqueued/memory": 40, "scheduler/enqueued/disk": 1}
    starts = [incarnation(0, 17, 1, jobdir(stats=stats), ended_by="fault"), incarnation(1, 0, 0, emptied())]
    return line("article_lock", "article-lock", starts, missing=24)


def article() -> list[dict[str, Any]]:
    """All trials that the article's table wants, at held requests."""
    return [clean_stop(), start_urls(), killed(), locked()]
