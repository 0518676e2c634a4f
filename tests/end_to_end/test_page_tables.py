"""The tables of README and docs are those of the reference results, and so are the summaries."""

import re
import shutil
from pathlib import Path

import pytest
from killtest.errors import UsageError
from killtest.report import page_tables

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "reference"
WITH_TABLES = [page for page in page_tables.pages_of(ROOT) if " table -->" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", WITH_TABLES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_results(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("<!-- end -->") == text.count(" table -->")
    assert page_tables.filled(text, RESULTS, page_tables.language_of(page)) == text, "run `make tables`"


def test_both_readmes_have_tables() -> None:
    assert {"README.md", "README.zh.md"} <= {page.name for page in WITH_TABLES}


def test_a_number_that_was_changed_by_hand_is_put_right() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert " 388 (5/5) |" in text
    assert page_tables.filled(text.replace(" 388 (5/5) |", " 389 (5/5) |"), RESULTS, "en") == text


def test_the_chinese_claims_say_what_the_english_ones_say() -> None:
    english = page_tables.shown_table(RESULTS, "reload", "en").splitlines()
    chinese = page_tables.shown_table(RESULTS, "reload", "zh").splitlines()
    assert [re.findall(r"-?\d+", row) for row in chinese] == [re.findall(r"-?\d+", row) for row in english]
    cells = [cell for row in chinese[2:] for cell in row.strip("|").split("|")[1:]]
    # The ledger's words are the same everywhere.
    assert {word for cell in cells for word in re.findall(r"[A-Za-z]+", cell)} <= {"NR", "hung", "lost", "missed"}


def test_a_table_that_nobody_knows_is_named() -> None:
    with pytest.raises(UsageError, match="<!-- artcle table -->: there are tables for article, comparison"):
        page_tables.filled("<!-- artcle table -->\n<!-- end -->\n", RESULTS, "en")


def test_results_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"workers/claims.md: no such file; `make workers` writes one"):
        page_tables.filled("<!-- workers table -->\n<!-- end -->\n", tmp_path, "en")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in RESULTS.glob("*/trials.jsonl")))
def test_summaries_are_what_the_ledger_gives_and_a_timeline_outlives_its_evidence(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(RESULTS / name, folder, ignore=lambda _, names: [one for one in names if one == "trials"])
    page_tables.summaries_again(tmp_path)
    for page in [*folder.glob("summary*.md"), folder / "summary.csv", *(folder / "tables").glob("*")]:
        committed = RESULTS / name / page.relative_to(folder)
        # The page names its own folder in the command that makes it again.
        again = page.read_text("utf-8").replace(str(folder), f"results/reference/{name}")
        assert again == committed.read_text("utf-8"), f"{committed}: run `make tables`"
