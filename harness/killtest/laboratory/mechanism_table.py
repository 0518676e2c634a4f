"""The mechanisms of loss: shortest schedule, what it gives, what was on disk at the kill, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from killtest.laboratory.facts import Absent, Facts
from killtest.laboratory.matrix import outcome_words
from killtest.laboratory.mechanisms import MECHANISMS, Mechanism
from killtest.laboratory.words import said
from killtest.report.frame import Line
from killtest.report.table import Cell, Table

_HEADINGS = (
    ("mechanism", "机制"),
    ("subject", "对象"),
    ("shortest schedule", "最短的故障序列"),
    ("missing (repeated)", "缺失（重复）"),
    ("on disk at that moment", "当时磁盘上"),
    ("scrapy_durable, same schedule", "scrapy_durable，同一故障序列"),
    ("why", "原因"),
    ("point of scrapy/scrapy#7978", "对应 scrapy/scrapy#7978"),
)
_NOT_SHOWN = ("not shown in this run", "本次未出现")
_NOT_RUN = ("not run", "未运行")
_ABSENT = ("no data", "无数据")
_WORDS = (
    {
        "seen": "requests.seen {bytes:,} bytes, {n} fingerprints",
        "none": "no active.json",
        "bad": "active.json: no JSON",
    },
    {"seen": "requests.seen {bytes:,} 字节，{n} 个指纹", "none": "没有 active.json", "bad": "active.json 不是 JSON"},
)
_QUEUE = (
    "{kind} queue {name}: {records} records, its count says {believed}",
    "{kind} 队列 {name}：{records} 条记录，自身计数为 {believed}",
)
_UNREADABLE = ("nothing: it can't be read", "无法读取")


def mechanism_table(measured: Sequence[Line], lang: int) -> Table:
    """One row a mechanism; `measured` are the lines that bench/jobdir_mechanisms.py wrote, `lang`: 0 or 1."""
    by_name = {line["name"]: line for line in measured}
    rows = tuple(_row(mechanism, by_name.get(mechanism.name), lang) for mechanism in MECHANISMS)
    command = next((f"`{line['command']}`" for line in measured), _NOT_RUN[lang])
    headings = tuple(heading[lang] for heading in _HEADINGS)
    return Table(
        "jobdir-mechanisms",
        said("tables.mechanisms.title", lang),
        said("tables.mechanisms.caption", lang, command=command),
        headings,
        rows,
    )


def _row(mechanism: Mechanism, measured: Line | None, lang: int) -> tuple[Cell, ...]:
    points = "; ".join(said(f"points.{name}", lang) for name in mechanism.points)
    if measured is None:
        seen = ("; ".join(mechanism.faults), *[_NOT_RUN[lang]] * 3)
    else:
        trial = Facts(measured["line"])
        given = outcome_words(trial) if measured["shown"] else _NOT_SHOWN[lang]
        seen = ("; ".join(measured["faults"]), given, moment(trial, lang), _durable(measured["durable"], lang))
    subject = f"scrapy_jobdir:{mechanism.variant}"
    return (
        said(f"mechanisms.{mechanism.name}.title", lang),
        subject,
        *seen,
        said(f"mechanisms.{mechanism.name}.why", lang),
        points,
    )


def _durable(line: Line | None, lang: int) -> str:
    """How scrapy_durable came out; a step of another program has none of its own to be compared with."""
    if line is None:
        return said("mechanisms.no-such-step", lang)
    return f"{line['outcome']} {outcome_words(Facts(line))}" if line["data"] else str(line["outcome"])


def moment(trial: Facts, lang: int) -> str:
    """What the JOBDIR held after the last incarnation that a fault ended."""
    ended = [one["number"] for one in trial.line["incarnations"] if one["ended_by"] == "fault"]
    try:
        jobdir = trial.jobdir(ended[-1] if ended else 0)
    except Absent:
        return _ABSENT[lang]
    words, parts = _WORDS[lang], []
    size = next((size for path, size in jobdir["files"].items() if path.endswith("requests.seen")), 0)
    parts.append(words["seen"].format(bytes=size, n=jobdir["fingerprints"]))
    if jobdir["index"] is None:
        parts.append(words["none"])
    elif jobdir["index"] == "unreadable":
        parts.append(words["bad"])
    for queue in jobdir["queues"]:
        believed = _UNREADABLE[lang] if queue["believed"] is None else queue["believed"]
        name = PurePosixPath(queue["path"]).name
        kind = str(queue["kind"]).upper() if queue["kind"] != "sqlite" else "SQLite"
        parts.append(_QUEUE[lang].format(kind=kind, name=name, records=queue["records"], believed=believed))
    return "; ".join(parts)
