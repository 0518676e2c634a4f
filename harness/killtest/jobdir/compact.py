"""What a line of the ledger says of a JOBDIR after an incarnation (docs/trial-line.md)."""

from typing import Any

from killtest.jobdir.job_dir import JobDir
from killtest.jobdir.queue import Queue
from killtest.jobdir.stats_dump import Stats

Compact = dict[str, Any]


def of(found: JobDir, stats: Stats | None) -> Compact:
    """The JOBDIR in short, with the `stats` that Scrapy dumped at the end of that incarnation, None without a dump."""
    return {
        "files": {one.path: one.bytes for one in found.files},
        "fingerprints": found.fingerprints,
        "cut_bytes": found.cut_bytes,
        "index": {slot: list(one) for slot, one in found.index.items()}
        if isinstance(found.index, dict)
        else found.index,
        "queues": [_queue(one) for one in found.queues],
        "state": found.state,
        "findings": [one.name for one in found.findings],
        "resume": {"loads": found.resume.loads, "forgets": found.resume.forgets, "words": list(found.resume.words)},
        "stats": stats,
    }


def _queue(queue: Queue) -> Compact:
    return {
        "path": queue.path,
        "kind": queue.kind,
        "slot": queue.slot,
        "priority": queue.priority,
        "start": queue.start,
        "listed": queue.listed,
        "records": queue.records,
        "pending": queue.pending.requests,
        "believed": queue.believed,
    }
