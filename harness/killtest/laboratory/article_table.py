"""The article's figures, each a row: published, ours at a held request and by the clock, does it hold."""

from __future__ import annotations

from killtest.laboratory.facts import Absent, Facts, Ledger
from killtest.laboratory.published import EXPERIMENTS, TITLE, Experiment, Figure
from killtest.laboratory.words import said
from killtest.report.table import Cell, Table

_HEADINGS = (
    ("experiment", "实验"),
    ("figure", "数据"),
    ("published", "文章"),
    ("ours, at a held request", "我们：卡住请求时"),
    ("ours, 1.5 s after the start", "我们：启动后 1.5 秒"),
    ("the relation behind it", "背后的关系"),
    ("holds", "成立（卡住请求时）"),
    ("holds by the clock", "成立（按时钟）"),
)
_ABSENT = ("no data", "无数据")
_NONE = ("–", "–")


def article_table(ledger: Ledger, lang: int) -> Table:
    """All published figures; `lang`: 0 English, 1 Chinese."""
    rows = [_row(ledger, experiment, figure, lang) for experiment in EXPERIMENTS for figure in experiment.figures]
    headings = tuple(heading[lang] for heading in _HEADINGS)
    return Table(
        "jobdir-article",
        said("tables.article.title", lang),
        said("tables.article.caption", lang, title=TITLE),
        headings,
        tuple(rows),
    )


def _row(ledger: Ledger, experiment: Experiment, figure: Figure, lang: int) -> tuple[Cell, ...]:
    held = _measured(ledger, experiment.variant, experiment.schedule, figure, lang)
    timed = (
        _measured(ledger, experiment.variant, experiment.timer, figure, lang)
        if experiment.timer
        else (_NONE[lang], _NONE[lang])
    )
    name, relation = figure.name[lang], figure.relation[lang]
    return (experiment.name[lang], name, figure.published, held[0], timed[0], relation, held[1], timed[1])


def _measured(ledger: Ledger, variant: str, schedule: str, figure: Figure, lang: int) -> tuple[Cell, str]:
    """Our value, and whether the relation holds; the value is shown even where the relation can't be asked."""
    try:
        trial = ledger.of(variant, schedule)
    except Absent:
        return _ABSENT[lang], _ABSENT[lang]
    return _value(figure, trial, lang), _holds(figure, trial, lang)


def _value(figure: Figure, trial: Facts, lang: int) -> Cell:
    try:
        value = figure.ours(trial)
    except Absent:
        return _ABSENT[lang]
    return value if isinstance(value, int) else str(value)


def _holds(figure: Figure, trial: Facts, lang: int) -> str:
    try:
        return "true" if figure.holds(trial) else "false"
    except Absent:
        return _ABSENT[lang]
