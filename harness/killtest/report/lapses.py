"""Pages that were in two hands, in words: `traffic.lapsed` of trial lines (docs/trial-line.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from killtest.report.headings import ENGLISH, Words

Line = Mapping[str, Any]
# Of each trial; the ledger holds more.
SHOWN = 5


def lapse_lines(line: Line, text: Words = ENGLISH) -> list[str]:
    """One for each of the first of a trial, and how many more there are; none for a line of an older killtest."""
    count = _count(line)
    told = [lapse_words(one, text) for one in line["traffic"]["lapsed"]["leases"][:SHOWN]] if count else []
    return told + ([text["lapse_more"].format(count=count - len(told))] if count > len(told) else [])


def lapse_words(one: Mapping[str, Any], text: Words = ENGLISH) -> str:
    """Who took which page over from whom, and what had become of the first."""
    first = text["lapse_who"].format(connection=one["connection"], incarnation=one["incarnation"])
    second = text["lapse_who"].format(connection=one["again_connection"], incarnation=one["again_incarnation"])
    facts = {"url": one["url"], "after_s": one["after_s"], "state": text[f"lapse_{one['first']}"]}
    blow = text["lapse_fault"].format(fault=one["fault"]) if one["fault"] else ""
    return text["lapse"].format(first=first, second=second, **facts) + blow


def lapsed_pages(lines: Sequence[Line], text: Words) -> list[str]:
    """For the summary: a heading and a list, trial by trial; nothing where no page was in two hands."""
    lapsed = [line for line in lines if _count(line)]
    if not lapsed:
        return []
    told = [f"- {line['id']}: {words}" for line in lapsed for words in lapse_lines(line, text)]
    return [text["summary_lapsed"].format(count=sum(map(_count, lapsed))), "\n".join(told)]


def _count(line: Line) -> int:
    return int(((line.get("traffic") or {}).get("lapsed") or {}).get("count", 0))
