"""A table as text, Markdown and CSV, and the cells it is made of."""

from __future__ import annotations

import io
import string
import subprocess
import sys

import pytest
from killtest.errors import UsageError
from killtest.report.cells import rate, share, spread, total
from killtest.report.headings import CHINESE, ENGLISH, words
from killtest.report.table import Table, csv_text, markdown, plain_text, print_table
from rich.cells import cell_len
from rich.console import Console

TABLE = Table("demo", "Title", "Caption.", ("who", "a|b"), (("x|y", 1234), ("[red]z", "missing")))


def test_markdown_escapes_bars_and_keeps_title_and_caption() -> None:
    text = markdown(TABLE)
    assert text.startswith("## Title\n")
    assert text.endswith("\nCaption.\n")
    assert r"x\|y" in text
    assert r"a\|b" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [row.replace(r"\|", "").count("|") for row in rows] == [3, 3, 3, 3]


def test_markdown_keeps_a_row_on_one_line_and_escapes_the_escape() -> None:
    text = markdown(Table("t", "T", "C", ("h",), (("a\nb",), ("c\\|d",))))
    assert "| a b " in text
    assert "| c\\\\\\|d " in text


def test_numbers_have_commas_for_people_and_none_for_programs() -> None:
    assert "1,234" in markdown(TABLE)
    assert "1,234" in plain_text(TABLE)
    assert csv_text(TABLE) == "who,a|b\nx|y,1234\n[red]z,missing\n"


def test_plain_text_aligns_wide_characters() -> None:
    table = Table("t", "T", "C", ("运行次数", "n"), (("缺失", 1), ("abcd", 22)))
    header, rule, *rows = plain_text(table).splitlines()[2:6]
    assert len({cell_len(line) for line in (header, rule, *rows)}) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_printing_shows_brackets_as_they_are(terminal: bool) -> None:
    out = io.StringIO()
    print_table(TABLE, Console(file=out, force_terminal=terminal, width=60))
    assert "[red]z" in out.getvalue()
    assert "Caption." in out.getvalue()
    assert ("\x1b" in out.getvalue()) is terminal


def test_plain_text_is_not_folded_at_the_width_of_the_console() -> None:
    out = io.StringIO()
    wide = Table("t", "T", "C", ("h" * 100, "n"), (("x", 1),))
    print_table(wide, Console(file=out, force_terminal=False, width=40))
    assert f"{'h' * 100}  n" in out.getvalue()


def test_no_word_is_cut_on_a_narrow_terminal() -> None:
    out = io.StringIO()
    narrow = Table("t", "T", "C", ("schedules of the group", "n"), (("request-KILL-of-a-long-name", 1),))
    print_table(narrow, Console(file=out, force_terminal=True, width=20))
    assert "request-KILL-of-a-long-name" in out.getvalue()
    assert "schedules" in out.getvalue()


def test_an_empty_table_says_so() -> None:
    table = Table("t", "T", "C", ("h",), (), empty="no trials finished yet")
    assert "no trials finished yet" in markdown(table)
    assert "no trials finished yet" in plain_text(table)


def test_blank_cells_and_rows_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="blank cell"):
        Table("t", "T", "C", ("h",), (("",),))
    with pytest.raises(ValueError, match="2 cells for 1 headings"):
        Table("t", "T", "C", ("h",), ((1, 2),))


def test_rates_carry_wilsons_interval_and_the_rule_of_three() -> None:
    assert rate(5, 10, ENGLISH) == "50 % [24 %–76 %]"
    assert rate(0, 10, ENGLISH) == "0 % (< 3/10 = 30 %)"
    assert rate(0, 0, ENGLISH) == "none judged"


def test_spreads_totals_and_shares() -> None:
    assert spread([3, 1, 1000, 4], ENGLISH) == "3.5 [1–1,000]"
    assert spread([2.0, 2.0], ENGLISH, 2) == "2.00"
    assert spread([], ENGLISH) == "no data"
    assert total([0, 5, 7], ENGLISH) == "12 (2/3)"
    assert total([0, 0], ENGLISH) == "0"
    assert total([], ENGLISH) == "no data"
    assert (share(7, 10), share(0, 0)) == ("7 (70 %)", "0")


def test_both_languages_have_the_same_keys_and_places() -> None:
    assert ENGLISH.keys() == CHINESE.keys()
    for key in ENGLISH:
        assert _places(ENGLISH[key]) == _places(CHINESE[key]), key


def test_another_language_is_refused() -> None:
    with pytest.raises(UsageError, match="fr: there are tables in en and zh"):
        words("fr")


def test_importing_the_report_does_not_import_pandas_or_matplotlib() -> None:
    code = "import sys, killtest.report.summary; print([m for m in ('pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def _places(text: str) -> set[str]:
    """The names in braces of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}
