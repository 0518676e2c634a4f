"""What a lost, cut or overwritten file of a stopped JOBDIR does to the resume."""

from __future__ import annotations

from killtest.laboratory.facts import Absent, Ledger
from killtest.laboratory.matrix import outcome_words
from killtest.laboratory.words import said
from killtest.report.table import Cell, Table

FILES = {
    "seen": "requests.seen",
    "state": "spider.state",
    "index": "active.json",
    "queue": "…/0 (LIFO)",
    "info": "…/0/info.json (FIFO)",
    "chunk": "…/0/q00000 (FIFO)",
}
HOWS = {"lost": ("lost", "丢失"), "cut": ("cut to its first half", "截去后一半"), "garbage": ("overwritten", "被覆写")}
_SCHEDULE = "damaged"
_FILE = ("file", "文件")
_ABSENT = ("no data", "无数据")


def damage_table(ledger: Ledger, lang: int) -> Table:
    """One row a file, one column a kind of damage; `lang`: 0 English, 1 Chinese."""
    rows = [(name, *(_cell(ledger, f"{key}_{how}", lang) for how in HOWS)) for key, name in FILES.items()]
    headings = (_FILE[lang], *(how[lang] for how in HOWS.values()))
    return Table(
        "jobdir-damage", said("tables.damage.title", lang), said("tables.damage.caption", lang), headings, tuple(rows)
    )


def _cell(ledger: Ledger, variant: str, lang: int) -> Cell:
    try:
        return outcome_words(ledger.of(variant, _SCHEDULE))
    except Absent:
        return _ABSENT[lang]
