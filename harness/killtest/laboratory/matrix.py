"""Every kind of interruption against every variant on the shop: products missing, requests made again."""

from __future__ import annotations

from dataclasses import dataclass

from killtest.laboratory.facts import Absent, Facts, Ledger
from killtest.laboratory.words import said
from killtest.report.frame import subject_label
from killtest.report.table import Cell, Table

SCHEDULES = {
    "shop-INT": ("Ctrl-C", "Ctrl-C"),
    "shop-TERM": ("SIGTERM", "SIGTERM"),
    "shop-INT-INT": ("Ctrl-C twice", "两次 Ctrl-C"),
    "shop-KILL": ("kill -9 at 250", "第 250 个请求时 kill -9"),
    "shop-KILL-KILL": ("kill -9 at 60, at 200", "第 60、200 个请求时 kill -9"),
    "shop-INT-KILL": ("Ctrl-C, resume, kill -9", "Ctrl-C，恢复，kill -9"),
}
_SUBJECT = ("subject", "对象")
_ABSENT = ("no data", "无数据")
_NOT_RUN = "–"
_OTHERS = ("corrupted", "duplicated", "stale", "unexpected")


@dataclass(frozen=True)
class Point:
    """One trial of the matrix: label of the subject, schedule, products missing and requests repeated."""

    label: str
    schedule: str
    missing: int
    repeated: int


def matrix_table(ledger: Ledger, lang: int) -> Table:
    """One row a subject, one column a kind of interruption; `lang`: 0 English, 1 Chinese."""
    labels = _labels(ledger)
    rows = [(label, *(_cell(ledger, label, name) for name in SCHEDULES)) for label in labels]
    products = next((str(point.products) for point in _trials(ledger)), _ABSENT[lang])
    headings = (_SUBJECT[lang], *(name[lang] for name in SCHEDULES.values()))
    return Table(
        "jobdir-matrix",
        said("tables.matrix.title", lang),
        said("tables.matrix.caption", lang, products=products),
        headings,
        tuple(rows),
    )


def points(ledger: Ledger) -> list[Point]:
    """What the figure shows, in the order of the table."""
    return [Point(subject_label(t.line), t.line["schedule"]["name"], t.missing, t.repeated) for t in _trials(ledger)]


def _trials(ledger: Ledger) -> list[Facts]:
    judged = [line for line in ledger.lines if line.get("data") and line["schedule"]["name"] in SCHEDULES]
    return [Facts(line) for line in judged]


def _labels(ledger: Ledger) -> list[str]:
    found = [subject_label(line) for line in ledger.lines if line["schedule"]["name"] in SCHEDULES]
    return list(dict.fromkeys(found))


def _cell(ledger: Ledger, label: str, schedule: str) -> Cell:
    subject, _, variant = label.partition(":")
    try:
        trial = ledger.of(variant or None, schedule, subject)
    except Absent:
        return _NOT_RUN
    return outcome_words(trial)


def outcome_words(trial: Facts) -> str:
    """`275 (1)`: missing and repeated; then other findings and the ending, where there are any."""
    line = trial.line
    words = [f"{trial.missing} ({trial.repeated})"]
    words += [f"{line['data'][name]['count']} {name}" for name in _OTHERS if line["data"][name]["count"]]
    words += [] if line["ending"] == "finished" else [str(line["ending"])]
    return ", ".join(words)
