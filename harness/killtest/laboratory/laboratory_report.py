"""The tables and the figure of the campaign `jobdir`, from its ledger and what the benches have put beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from killtest.errors import UsageError
from killtest.laboratory.answer_table import answer_table
from killtest.laboratory.article_table import article_table
from killtest.laboratory.damage_table import damage_table
from killtest.laboratory.facts import Ledger
from killtest.laboratory.files_table import files_table
from killtest.laboratory.flush_table import flush_table
from killtest.laboratory.matrix import matrix_table
from killtest.laboratory.mechanism_table import mechanism_table
from killtest.laboratory.scale_table import scale_table
from killtest.laboratory.words import LANGUAGES
from killtest.report.frame import Line
from killtest.report.table import Table

CAMPAIGN = "jobdir"
MECHANISMS_FILE = "mechanisms.jsonl"
SCALE_FILE = "scale.json"


def has_laboratory(lines: Sequence[Line]) -> bool:
    """Whether these are trials of the laboratory's campaign."""
    return any(line.get("campaign") == CAMPAIGN for line in lines)


def laboratory_tables(lines: Sequence[Line], lang: str, campaign_dir: Path | None) -> list[Table]:
    """All tables of the laboratory; what is not there is said in them.

    `campaign_dir` is where mechanisms.jsonl and scale.json are looked for. UsageError when one of them is no such file.
    """
    index = LANGUAGES.index(lang)
    ledger = Ledger([line for line in lines if line.get("campaign") == CAMPAIGN])
    measured = _lines(campaign_dir / MECHANISMS_FILE) if campaign_dir else []
    scale = _object(campaign_dir / SCALE_FILE) if campaign_dir else None
    return [
        article_table(ledger, index),
        files_table(ledger, index),
        answer_table(ledger, index),
        _of_file(campaign_dir, MECHANISMS_FILE, lambda: mechanism_table(measured, index)),
        matrix_table(ledger, index),
        flush_table(ledger, index),
        damage_table(ledger, index),
        _of_file(campaign_dir, SCALE_FILE, lambda: scale_table(scale, index)),
    ]


def _of_file(campaign_dir: Path | None, name: str, table: Callable[[], Table]) -> Table:
    """The table of a file that decodes, and may be of another version: its shape is what the table asks for."""
    try:
        return table()
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if campaign_dir is None:
            raise
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{campaign_dir / name} is of another shape ({what}); `make jobdir` writes it anew") from error


def _lines(path: Path) -> list[Line]:
    return [_decoded(line, path) for line in path.read_bytes().splitlines()] if path.is_file() else []


def _object(path: Path) -> dict[str, Any] | None:
    return _decoded(path.read_bytes(), path) if path.is_file() else None


def _decoded(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: {error}; `make jobdir` writes it anew") from None
