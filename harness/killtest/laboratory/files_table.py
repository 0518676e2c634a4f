"""What lies in the JOBDIR after one Ctrl-C: every file, its bytes, what it is, and what stands in it."""

from __future__ import annotations

from pathlib import PurePosixPath

from killtest.laboratory.facts import Absent, Ledger
from killtest.laboratory.words import said
from killtest.report.frame import Line
from killtest.report.table import Cell, Table

_PUBLISHED = {
    "requests.seen": "902",
    "spider.state": "135",
    "active.json": "18",
    "info.json": "73",
    "q00000": "10,510",
}
_HEADINGS = (
    ("file", "文件"),
    ("bytes", "字节"),
    ("published", "文章"),
    ("what it is", "是什么"),
    ("decoded", "解码"),
)
_NOT_PUBLISHED = ("–", "–")


def files_table(ledger: Ledger, lang: int) -> Table:
    """The article's JOBDIR as it is after `request:19 INT`; empty while that trial has not run. `lang`: 0 or 1."""
    title, caption = said("tables.files.title", lang), said("tables.files.caption", lang)
    headings = tuple(heading[lang] for heading in _HEADINGS)
    try:
        jobdir = ledger.of("article", "article-INT").jobdir(0)
    except Absent:
        return Table("jobdir-files", title, caption, headings, ())
    rows = tuple(_row(path, size, jobdir, lang) for path, size in jobdir["files"].items())
    return Table("jobdir-files", title, caption, headings, rows)


def _row(path: str, size: int, jobdir: Line, lang: int) -> tuple[Cell, ...]:
    name = PurePosixPath(path).name
    what = said(f"files.{_key(name)}.what", lang) if name in _PUBLISHED else said("files.other.what", lang)
    return (path, size, _PUBLISHED.get(name, _NOT_PUBLISHED[lang]), what, _decoded(path, jobdir, lang))


def _decoded(path: str, jobdir: Line, lang: int) -> str:
    name = PurePosixPath(path).name
    queues: list[Line] = [one for one in jobdir["queues"] if path.startswith(one["path"] + "/")]
    queue = queues[0] if queues else {}
    values = {
        "fingerprints": jobdir["fingerprints"],
        "index": jobdir["index"],
        "state": ", ".join(f"{key}: {value}" for key, value in (jobdir["state"] or {}).items()),
        **{key: queue.get(key) for key in ("records", "pending", "believed")},
    }
    return said(f"files.{_key(name)}.decoded", lang, **values) if name in _PUBLISHED else _NOT_PUBLISHED[lang]


def _key(name: str) -> str:
    """The name of a file in words.toml, where a dot parts keys."""
    return name.replace(".", "-")
