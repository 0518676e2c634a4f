"""The tables of README and docs, written anew from the reference results: `make tables`.

A page holds a table between `<!-- NAME table -->` and `<!-- end -->`. NAME is a campaign of the reference results; each
has one table that pages show.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from killtest.errors import UsageError
from killtest.report.claim_words import in_chinese
from killtest.report.reference import campaign_in, campaigns_in
from killtest.report.summary import write_summary
from killtest.report.table import markdown

# Of each campaign the table that pages show: the first whose name begins so.
SHOWN = {
    "article": "article-",
    "comparison": "findings",
    "jobdir": "jobdir-matrix",
    "misbehaviour": "misbehaviour",
    "mtbf": "mtbf",
}
# Benches have written these beside their campaigns, as pages.
WRITTEN = {"reload": "claims.md", "workers": "claims.md"}
_BLOCK = re.compile(r"(<!-- ([a-z]+) table -->\n).*?(<!-- end -->)", re.DOTALL)


def language_of(page: Path) -> str:
    """The language that a page's name says: `README.zh.md` is Chinese."""
    return "zh" if page.name.endswith(".zh.md") else "en"


def shown_table(results: Path, name: str, lang: str) -> str:
    """The rows of that campaign's table, as Markdown. UsageError where there are none."""
    folder = results / name
    if name in WRITTEN:
        page = folder / WRITTEN[name]
        if not page.is_file():
            raise UsageError(
                f"{page}: no such file; `make {name}` writes one in results/{name}, `make reference` this one"
            )
        rows = _first_rows(page.read_text("utf-8"))
        return _first_rows(in_chinese(rows)) if lang == "zh" else rows
    if name not in SHOWN:
        raise UsageError(f"<!-- {name} table -->: there are tables for {', '.join(sorted({**SHOWN, **WRITTEN}))}")
    return _first_rows(markdown(campaign_in(folder).table(SHOWN[name], lang)))


def _first_rows(text: str) -> str:
    """The first table in a text."""
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return found[0] if found else ""


def filled(text: str, results: Path, lang: str) -> str:
    """The page with each of its tables as the results have it."""
    return _BLOCK.sub(lambda block: block[1] + shown_table(results, block[2], lang) + block[3], text)


def pages_of(root: Path) -> list[Path]:
    """The pages that may hold tables."""
    return [*sorted(root.glob("README*.md")), *sorted((root / "docs").glob("*.md"))]


def summaries_again(results: Path) -> None:
    """Write what is derived from each ledger anew, in each language in which it is there.

    A timeline is drawn from evidence, which is not kept for good: one that is there stays, with its link.
    """
    for campaign in campaigns_in(results).values():
        for page in sorted(campaign.folder.glob("summary*.md")):
            write_summary(campaign.folder, campaign.lines, language_of(page), campaign.plan)


def main(root: Path) -> None:
    """Write the derived files of `results/reference` and the tables of all pages below `root` anew."""
    results = root / "results" / "reference"
    summaries_again(results)
    for page in pages_of(root):
        text = page.read_text("utf-8")
        again = filled(text, results, language_of(page))
        if again != text:
            page.write_text(again, "utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
