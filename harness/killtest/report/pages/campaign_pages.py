"""Write the pages of a campaign: index.html, one page for each trial with evidence, map.html for an exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from killtest.report.frame import Line, Plan, require_report_packages
from killtest.report.output import replace_file
from killtest.report.pages.document import Document, html, script_text
from killtest.report.pages.index_data import index_data
from killtest.report.pages.map_data import map_data
from killtest.report.pages.trial_data import trial_data
from killtest.report.pages.vega import vega_script

INDEX, MAP, TRIAL = "index.html", "map.html", "index.html"
SHARED = Path("pages") / "vega.js"
INDEX_SCRIPTS = ("charts.js", "filters.js", "comparison.js", "trials_list.js", "overview.js", "index.js")
TRIAL_SCRIPTS = ("charts.js", "timeline.js", "trial.js")


def write_pages(campaign_dir: Path, lines: Sequence[Line], plan: Plan | None = None) -> Path:
    """Write the pages of the campaign into its folder, and return the path of its index.

    The index holds all it needs; a trial's page takes Vega from one file that they share. Everything can be thrown away
    and made again. Raises UsageError when a package of the `report` extra is missing, a trial occurs twice, or the
    folder can't be written to.
    """
    require_report_packages()
    pages = {line["id"]: page for line in lines if (page := trial_page(campaign_dir, line))}
    if pages:
        replace_file(campaign_dir / SHARED, script_text(vega_script()).encode())
    for line in lines:
        if line["id"] in pages:
            _write_trial(campaign_dir, line)
    maps = write_map(campaign_dir, lines)
    data = index_data(lines, plan, lambda line: pages.get(line["id"]))
    data |= {"name": campaign_dir.name, "map": None if maps is None else maps.name, "files": _files(campaign_dir)}
    title = f"{', '.join(data['campaigns']) or campaign_dir.name} · killtest"
    document = Document(title, data, INDEX_SCRIPTS, kept={"vega": vega_script()})
    replace_file(campaign_dir / INDEX, html(document).encode())
    return campaign_dir / INDEX


def write_map(campaign_dir: Path, lines: Sequence[Line]) -> Path | None:
    """Write the map of an exploration and return its path; None where the folder holds no points."""
    pages = {str((line.get("schedule") or {}).get("name")): trial_page(campaign_dir, line) for line in lines}

    def page_of(row: Mapping[str, Any]) -> str | None:
        return pages.get(f"step-{row['k']}") if row.get("trigger") else None

    data = map_data(campaign_dir, page_of)
    if data is None:
        return None
    page = Document(f"Map of {campaign_dir.name} · killtest", data, ("map.js",))
    replace_file(campaign_dir / MAP, html(page).encode())
    return campaign_dir / MAP


def trial_page(campaign_dir: Path, line: Line) -> str | None:
    """The address of a trial's page below the campaign's folder; None when its evidence is not there.

    A ledger is a file that anybody may have written: evidence outside the folder is none.
    """
    evidence = line.get("evidence")
    if not evidence:
        return None
    place = (campaign_dir / str(evidence)).resolve()
    root = campaign_dir.resolve()
    if place == root or not place.is_relative_to(root) or not place.is_dir():
        return None
    return quote(f"{place.relative_to(root).as_posix()}/{TRIAL}")


def _write_trial(campaign_dir: Path, line: Line) -> None:
    place = (campaign_dir / str(line["evidence"])).resolve()
    up = "../" * len(place.relative_to(campaign_dir.resolve()).parts)
    data = trial_data(line, place, f"{up}{INDEX}")
    page = Document(f"{line['id']} · killtest", data, TRIAL_SCRIPTS, linked=(f"{up}{SHARED.as_posix()}",))
    replace_file(place / TRIAL, html(page).encode())


def _files(campaign_dir: Path) -> list[str]:
    """What else of the campaign a reader may want, where it is there."""
    names = (
        "summary.md",
        "summary.csv",
        "trials.jsonl",
        "campaign.toml",
        "environment.json",
        "explored.json",
        "tables",
    )
    return [f"{name}/" if name == "tables" else name for name in names if (campaign_dir / name).exists()]
