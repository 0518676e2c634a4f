"""When requests.seen reaches the disk: kills at known numbers of links read."""

from __future__ import annotations

from killtest.laboratory.facts import Absent, Facts, Ledger
from killtest.laboratory.words import said
from killtest.report.frame import Line
from killtest.report.table import Cell, Table

_VARIANT = "chain"
_GROUPS = ("flush-1", "flush-2")
_HEADINGS = (
    ("killed at request", "被杀时的请求序号"),
    ("links read", "已读链接"),
    ("fingerprints on disk", "磁盘上的指纹"),
    ("bytes", "字节"),
    ("bytes of a cut record", "残缺记录的字节"),
    ("requests of the next start", "下次启动的请求数"),
    ("products missing of 500", "缺失的商品（共 500）"),
)


def flush_table(ledger: Ledger, lang: int) -> Table:
    """One row a kill, in the order of requests; `lang`: 0 English, 1 Chinese."""
    rows = tuple(row for line in flushes(ledger) if (row := _row(line)))
    headings = tuple(heading[lang] for heading in _HEADINGS)
    return Table("jobdir-flush", said("tables.flush.title", lang), said("tables.flush.caption", lang), headings, rows)


def flushes(ledger: Ledger) -> list[Line]:
    """The trials of the two groups, by the request at which they were killed."""
    chosen = [line for line in ledger.lines if line["schedule"]["group"] in _GROUPS and line.get("variant") == _VARIANT]
    return sorted((line for line in chosen if line.get("data")), key=killed_at)


def killed_at(line: Line) -> int:
    """The request at which the trial was killed: its schedule is called flush-1-187."""
    return int(str(line["schedule"]["name"]).rsplit("-", 1)[1])


def _row(line: Line) -> tuple[Cell, ...] | None:
    trial, n = Facts(line), killed_at(line)
    try:
        seen = trial.jobdir(0)
        size = trial.bytes_of(0, "requests.seen")
        return (n, n - 1, trial.fingerprints(0), size, int(seen["cut_bytes"]), trial.requests(1), trial.missing)
    except Absent:
        return None
