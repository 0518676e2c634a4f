"""What a map of crash points shows, as plain data, from the files that an exploration wrote.

A map is a file of points, one JSON object a line. `k` and `outcome` are all that a point must have; with a `model`
there is a map for each of its values (what a power cut may lose, which call fails); every other column is shown as
it is. So a file of other points with the same columns becomes a map by being named in MAPS.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from killtest.errors import UsageError

MAPS = {
    "points.jsonl": "Crash points: a kill before each durable step",
    "points_power.jsonl": "Power cuts: what each model leaves on disk",
    "errors.jsonl": "Error points: a call that fails",
}
MARKS = ("PASS", "confirmed", "derived", "false", "unknown")


def map_data(folder: Path, page_of: Callable[[Mapping[str, Any]], str | None]) -> dict[str, Any] | None:
    """The maps of the folder; None when there is none. `page_of` gives the page of a point's true kill, if any.

    Raises UsageError for a file that can't be read.
    """
    maps = []
    for name, title in MAPS.items():
        if (folder / name).is_file():
            points = [_point(row, page_of) for row in _rows(folder / name)]
            models = list(dict.fromkeys(point.get("model") for point in points))
            for model in models:
                chosen = [point for point in points if point.get("model") == model]
                maps.append({"file": name, "title": title, "model": model, "points": chosen})
    if not maps:
        return None
    return {"name": folder.name, "index": "index.html", "maps": maps, "marks": MARKS, "summary": _summary(folder)}


def _point(row: dict[str, Any], page_of: Callable[[Mapping[str, Any]], str | None]) -> dict[str, Any]:
    return {**row, "mark": mark(row), "page": page_of(row)}


def mark(row: Mapping[str, Any]) -> str:
    """How a point came out, one of MARKS: whether a true kill showed the failure too, or was never tried."""
    if row.get("outcome") != "FAIL":
        return "PASS" if row.get("outcome") == "PASS" else "unknown"
    confirmed = row.get("confirmed")
    return "derived" if confirmed is None else "confirmed" if confirmed else "false"


def _rows(path: Path) -> Sequence[dict[str, Any]]:
    rows = []
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(text)
            rows.append({**row, "k": int(row["k"])})
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"{path}, line {number}: no point of a map ({error!r}); explore again") from error
    return rows


def _summary(folder: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / "explored.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told
