"""Completion against the mean time between kills, the rate at which a crawler never finishes included.

A group called `mtbf-0.5` holds schedules whose kills are drawn with a mean of 0.5 s between them (docs/campaigns.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from killtest.report import cells
from killtest.report.frame import Line, numbers, subject_label
from killtest.report.headings import words
from killtest.report.kill_counts import count_kills
from killtest.report.statistics import wilson_interval
from killtest.report.table import Table

_GROUP = re.compile(r"^mtbf-(\d+(?:\.\d+)?)$")


def mtbf_s(line: Line) -> float | None:
    """The mean time between the kills of a trial, in seconds; None for a trial of another kind."""
    schedule = line.get("schedule") or {}
    found = _GROUP.match(str(schedule.get("group")))
    faults = schedule.get("faults") or []
    is_timed = bool(faults) and all(str(fault).startswith("after:") for fault in faults)
    return float(found.group(1)) if found and is_timed and not line.get("control") else None


def points(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """One point for each subject and mean: trials counted, how many finished, how the others ended, with intervals.

    A trial that was over before its first kill came is UNKNOWN as a verdict, for nothing was tried; here it counts, as
    `untouched`, since at that rate of kills the crawler finished: to leave out the lucky would make the rate look worse
    than it is. `never` is how many did not finish, its share with Wilson's 95 % interval; `wall_s` are lowest, median
    and highest of the seconds that the finished ones took, `right` is how many finished with the right data.
    """
    by_point: dict[tuple[str, float], list[Line]] = {}
    for line in lines:
        mean_s = mtbf_s(line)
        if mean_s is not None:
            by_point.setdefault((subject_label(line), mean_s), []).append(line)
    return [_point(subject, mean_s, by_point[subject, mean_s]) for subject, mean_s in sorted(by_point)]


def _point(subject: str, mean_s: float, trials: Sequence[Line]) -> dict[str, Any]:
    judged = [line for line in trials if line.get("outcome") in ("PASS", "FAIL") or _is_untouched(line)]
    finished = [line for line in judged if line.get("ending") == "finished"]
    never, n = len(judged) - len(finished), len(judged)
    interval = wilson_interval(never, n) if n else None
    walls_s = numbers((line.get("time") or {}).get("wall_s") for line in finished)
    endings = sorted({str(line.get("ending")) for line in judged if line.get("ending") != "finished"})
    return {
        "subject": subject,
        "mtbf_s": mean_s,
        "n": n,
        "unknown": len(trials) - n,
        "finished": len(finished),
        "untouched": sum(map(_is_untouched, trials)),
        "right": sum(line.get("outcome") != "FAIL" for line in finished),
        "never": never,
        "never_share": None if interval is None else [round(interval.low, 4), never / n, round(interval.high, 4)],
        "endings": {one: sum(line.get("ending") == one for line in judged) for one in endings},
        "wall_s": [min(walls_s), median(walls_s), max(walls_s)] if walls_s else None,
        "kills": sum(count_kills(line).struck for line in judged),
    }


def _is_untouched(line: Line) -> bool:
    """Whether the crawl was over, with the right data, before its first kill came."""
    is_over = line.get("outcome") == "UNKNOWN" and line.get("ending") == "finished" and line.get("data") is not None
    return is_over and count_kills(line).struck == 0


def mtbf_table(lines: Sequence[Line], lang: str = "en") -> Table | None:
    """A row for each subject and mean time between kills; None for a campaign without such schedules."""
    text, found = words(lang), points(lines)
    if not found:
        return None
    rows = [
        (
            point["subject"],
            f"{point['mtbf_s']:g}",
            point["n"],
            point["unknown"],
            point["finished"],
            point["untouched"],
            point["right"],
            cells.rate(point["never"], point["n"], text),
            ", ".join(f"{ending} {count}" for ending, count in point["endings"].items()) or text["none"],
            _wall(point, text["none_finished"]),
            point["kills"],
        )
        for point in found
    ]
    keys = [
        "subject",
        "mtbf_s",
        "judged",
        "unknown",
        "finished",
        "untouched",
        "finished_right",
        "never_rate",
        "endings",
    ]
    headings = tuple(text[key] for key in [*keys, "wall_s", "kills_struck"])
    caption = text["caption_mtbf"].format(n=sum(point["n"] for point in found))
    return Table("mtbf", text["title_mtbf"], caption, headings, tuple(rows))


def _wall(point: dict[str, Any], otherwise: str) -> str:
    if point["wall_s"] is None:
        return otherwise
    low, middle, high = point["wall_s"]
    return f"{middle:.1f} [{low:.1f}–{high:.1f}]" if low != high else f"{middle:.1f}"
