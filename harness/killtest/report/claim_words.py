"""The table of claims (`claims.md`, which a bench writes in English) in Chinese, for README.zh.md."""

from __future__ import annotations

import re

from killtest.report.table import Table, markdown

# What the ledger's words say (lost, missed, hung) is the same in every language; see report.headings.
_PHRASES = (
    (r"^schedule$", "故障计划"),
    (r"^the published design, rebuilt$", "按发表的设计重建"),
    (r"holds; ", "成立；"),
    (r"broken: ", "不成立："),
    (r"(\d+) of at most (\d+) repeated", r"重复 \1 次，至多 \2 次"),
    (r"(\d+) repeated of at most (\d+)", r"重复 \1 次，至多 \2 次"),
    (r"; (\d+) repeated$", r"；重复 \1 次"),
    (r"old code ran for (\d+) s", r"旧代码又运行了 \1 秒"),
    (r"out of time", "超时"),
    (r"NR down to (-\d+)", r"NR 降到 \1"),
    (r"NR (\d+) at the end", r"结束时 NR 为 \1"),
    (r", ", ","),
)


def in_chinese(rows: str) -> str:
    """The Markdown rows of such a table, with Chinese headings and cells."""
    first, _, *rest = ([_translated(cell.strip()) for cell in row.strip("|").split("|")] for row in rows.splitlines())
    return markdown(Table("claims", "", "", tuple(first), tuple(tuple(row) for row in rest)))


def _translated(cell: str) -> str:
    for english, chinese in _PHRASES:
        cell = re.sub(english, chinese, cell)
    return cell
