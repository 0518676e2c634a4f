"""The questions that the article left open, and more, as a table."""

from __future__ import annotations

from killtest.laboratory.answers import ANSWERS, Answer
from killtest.laboratory.facts import Absent, Ledger
from killtest.laboratory.words import said
from killtest.report.table import Cell, Table

_HEADINGS = (("question", "问题"), ("answer", "回答"), ("holds", "成立"), ("command", "命令"))
_ABSENT = ("no data", "无数据")


def answer_table(ledger: Ledger, lang: int) -> Table:
    """One row a question; `lang`: 0 English, 1 Chinese."""
    rows = tuple(_row(ledger, answer, lang) for answer in ANSWERS)
    headings = tuple(heading[lang] for heading in _HEADINGS)
    return Table(
        "jobdir-answers", said("tables.answers.title", lang), said("tables.answers.caption", lang), headings, rows
    )


def _row(ledger: Ledger, answer: Answer, lang: int) -> tuple[Cell, ...]:
    try:
        sentence = said(f"answers.{answer.name}.sentence", lang, **answer.values(ledger))
        holds = "–" if answer.holds is None else str(answer.holds(ledger)).lower()
    except Absent as missing:
        sentence, holds = f"{_ABSENT[lang]}: {missing}", _ABSENT[lang]
    return (
        said(f"answers.{answer.name}.question", lang),
        sentence,
        holds,
        f"`{answer.command}`" if answer.command != "–" else "–",
    )
