"""The map of an exploration as a page, where the packages for it are installed."""

from collections.abc import Sequence
from pathlib import Path

from killtest.campaigns.trial_line import Line
from killtest.plan import subject
from killtest.report.pages.campaign_pages import write_pages


def map_of(folder: Path, lines: Sequence[Line] = ()) -> str:
    """Write map.html and index.html into the folder; what to add to the list of results, nothing without packages.

    `lines` are those of the true kills.
    """
    if subject.missing_of_extra("report"):
        return ""
    write_pages(folder, lines)
    return ", map.html"
