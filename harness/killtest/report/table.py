"""A table: title, caption, headings and cells, and how it is written as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from killtest.report.frame import require_report_packages

if TYPE_CHECKING:
    from rich.console import Console

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """What is shown, independent of how.

    `name` is the file name without ending; `caption` says what is counted, in which unit, with which interval
    and for how many trials; `empty` is shown instead of rows when there are none. Raises ValueError for a row
    of the wrong length or a blank cell: what has no value says why.
    """

    name: str
    title: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "no trials"

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the headings, and cells that leave the reader guessing."""
        expected = len(self.headings)
        for row in self.rows:
            if len(row) != expected:
                raise ValueError(f"table {self.name}: {len(row)} cells for {expected} headings: {row}")
            if any(cell is None or cell == "" for cell in row):
                raise ValueError(f"table {self.name}: a blank cell in {row}")


def cell_text(cell: Cell) -> str:
    """A cell as people read it: numbers with thousands separated by commas."""
    return cell if isinstance(cell, str) else f"{cell:,}"


def markdown(table: Table) -> str:
    """The table as a Markdown section: heading, table, caption. Needs the `report` extra, else UsageError."""
    body = _markdown_rows(table) if table.rows else f"*{table.empty}*"
    return f"## {table.title}\n\n{body}\n\n{table.caption}\n"


def _markdown_rows(table: Table) -> str:
    """Headings and rows as a Markdown table."""
    require_report_packages()
    import pandas as pd

    cells = [[_escape(cell_text(cell)) for cell in row] for row in table.rows]
    frame = pd.DataFrame(cells, columns=pd.Index([_escape(heading) for heading in table.headings]))
    align = ["right" if right else "left" for right in _right_aligned(table)]
    text: str | None = frame.to_markdown(index=False, disable_numparse=True, colalign=align)
    return text or ""


def _escape(text: str) -> str:
    """Text for a Markdown cell: a bar would begin the next cell, a line break would end the row."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def csv_text(table: Table) -> str:
    """Headings and rows as CSV; numbers without separators, so that programs can read them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.headings)
    writer.writerows(table.rows)
    return out.getvalue()


def plain_text(table: Table) -> str:
    """The table as aligned text without colours, for files and pipes; wide Chinese characters count twice."""
    if not table.rows:
        return f"{table.title}\n\n({table.empty})\n\n{table.caption}\n"
    cells = [list(table.headings), *([cell_text(cell) for cell in row] for row in table.rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(table.headings))]
    rights = _right_aligned(table)
    body = [_plain_line(row, widths, rights) for row in cells]
    body.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([table.title, "", *body, "", table.caption, ""])


def _plain_line(row: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    """One line of plain text, each cell padded to its column's width in terminal columns."""
    padded = []
    for text, width, right in zip(row, widths, rights, strict=True):
        space = " " * (width - _width(text))
        padded.append(space + text if right else text + space)
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Terminal columns that the text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def _right_aligned(table: Table) -> list[bool]:
    """For each column, whether it holds any number, written as one or as text with its decimals fixed."""
    return [any(_is_number(row[i]) for row in table.rows) for i in range(len(table.headings))]


def _is_number(cell: Cell) -> bool:
    """Whether a cell is a number that lines up with others below each other."""
    return not isinstance(cell, str) or cell.replace(",", "").replace(".", "").isdigit()


def _longest_word(table: Table, column: int) -> int:
    """Terminal columns that the longest word in a column of the table takes, its heading included."""
    cells = [table.headings[column], *(cell_text(row[column]) for row in table.rows)]
    return max(_width(word) for text in cells for word in [*text.split(), ""])


def print_table(table: Table, console: Console) -> None:
    """Write the table to a console: drawn and folded on a terminal, plain text of full width elsewhere."""
    if not console.is_terminal or not table.rows:
        console.print(plain_text(table), markup=False, highlight=False, soft_wrap=True)
        return
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    least = [_longest_word(table, column) for column in range(len(table.headings))]
    for heading, right, width in zip(table.headings, _right_aligned(table), least, strict=True):
        drawn.add_column(escape(heading), justify="right" if right else "left", min_width=width)
    for row in table.rows:
        drawn.add_row(*(escape(cell_text(cell)) for cell in row))
    console.print(f"\n[bold]{escape(table.title)}[/bold]")
    # No word is cut: on a terminal narrower than the longest words of a line, the terminal wraps it.
    terminal_width, needed = console.width, sum(least) + len(least) + 2
    console.width = max(terminal_width, needed)
    console.print(drawn)
    console.width = terminal_width
    console.print(escape(table.caption), style="italic", highlight=False)
