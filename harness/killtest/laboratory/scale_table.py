"""What the disk queues cost at 100,000 requests: the figures of bench/jobdir_scale.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from killtest.laboratory.words import said
from killtest.report.table import Cell, Table

_QUEUE = ("queue", "队列")
# Name in the file, headings, decimals.
_COLUMNS = (
    ("requests", ("requests", "请求数"), 0),
    ("queue_bytes_each", ("queue, bytes each", "队列，每个请求字节"), 1),
    ("seen_bytes_each", ("requests.seen, bytes each", "requests.seen，每个字节"), 1),
    ("enqueue_s", ("enqueue, s", "入队，秒"), 2),
    ("enqueued_per_s", ("requests/s", "请求/秒"), 0),
    ("rss_growth_mib", ("memory grows, MiB", "内存增长，MiB"), 1),
    ("stop_s", ("clean stop, s", "正常停止，秒"), 2),
    ("first_request_s", ("start to first request, s", "启动到首个请求，秒"), 2),
    ("resumed_rss_mib", ("memory when open, MiB", "恢复后内存，MiB"), 1),
)
_NOT_RUN = ("not run: python bench/jobdir_scale.py", "未运行：python bench/jobdir_scale.py")
_NONE = ("none", "无")


def scale_table(measured: Mapping[str, Any] | None, lang: int) -> Table:
    """One row a queue; `measured` is the JSON of the bench, None when it was not run, `lang`: 0 or 1."""
    headings = (_QUEUE[lang], *(heading[lang] for _, heading, _ in _COLUMNS))
    if measured is None:
        return Table(
            "jobdir-scale", said("tables.scale.title", lang), _NOT_RUN[lang], headings, (), empty=_NOT_RUN[lang]
        )
    rows = tuple(
        (name, *(_cell(figures.get(key), digits, lang) for key, _, digits in _COLUMNS))
        for name, figures in measured["queues"].items()
    )
    return Table(
        "jobdir-scale", said("tables.scale.title", lang), said("tables.scale.caption", lang, **measured), headings, rows
    )


def _cell(value: float | None, digits: int, lang: int) -> Cell:
    if value is None:
        return _NONE[lang]
    return f"{value:,.{digits}f}"
