"""The reference results: campaigns that are committed, with the tables that their ledgers give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from killtest.campaigns import ledger
from killtest.campaigns.campaign_folder import stored_spec
from killtest.errors import UsageError
from killtest.plan.campaign import names_by_group
from killtest.report.frame import Line, Plan, plan_by_label
from killtest.report.summary import all_tables
from killtest.report.table import Table


@dataclass(frozen=True)
class Campaign:
    """A campaign that was run: its folder, the lines of its ledger, and what it was to run."""

    folder: Path
    lines: Sequence[Line]
    plan: Plan

    def tables(self, lang: str = "en") -> list[Table]:
        """Every table of its report."""
        return all_tables(self.lines, lang, self.plan, self.folder)

    def table(self, start: str, lang: str = "en") -> Table:
        """The first of its tables whose name begins so; UsageError where there is none."""
        found = next((table for table in self.tables(lang) if table.name.startswith(start)), None)
        if found is None:
            raise UsageError(f"{self.folder}: no table {start}…; there are: {_names(self.tables(lang))}")
        return found


def _names(tables: Sequence[Table]) -> str:
    return ", ".join(table.name for table in tables)


def campaign_in(folder: Path) -> Campaign:
    """The campaign in that folder of results."""
    lines = ledger.read(folder / "trials.jsonl")
    return Campaign(folder, lines, plan_by_label(names_by_group(stored_spec(folder)), lines))


def campaigns_in(results: Path) -> dict[str, Campaign]:
    """Every campaign below `results` that has a ledger, by the name of its folder."""
    return {path.parent.name: campaign_in(path.parent) for path in sorted(results.glob("*/trials.jsonl"))}
