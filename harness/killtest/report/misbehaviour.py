"""What each misbehaviour of the site costs each subject: a line per schedule group, a column per subject.

The groups are those whose every fault is something that the site does wrong, kills beside it excepted. A cost is the
median over the group's trials minus the median over the subject's controls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from killtest.report.frame import KEY_LISTS, Line, subject_label
from killtest.report.modelled import kind_of
from killtest.report.table import Table

_FINDINGS = tuple(name for name in KEY_LISTS if name != "set_back")
# Below that, a difference in seconds is what any two crawls differ by.
_NOISE_S = 0.3
_TITLE = {"en": "What the site does wrong, and what it costs", "zh": "网站出错的代价"}
_HEADING = {"en": "fault, or group of faults", "zh": "故障，或故障组"}
_CAPTION = {
    "en": (
        "Page requests and seconds more than in the subject's controls (medians; {n} trials), seconds where they are "
        "{s:g} or more. What is wrong with the data comes first, in keys; a subject that died was restarted so often."
    ),
    "zh": (
        "比该爬虫的对照多出的页面请求数与秒数（中位数；{n} 次试验），不足 {s:g} 秒的不列。数据中的错误列在最前，"
        "以键计；自行退出的爬虫列出被重启的次数。"
    ),
}
_DIED = {"en": "died {n}×", "zh": "退出 {n} 次"}
_NOT_RUN = {"en": "not run", "zh": "未运行"}


def has_misbehaviour(lines: Iterable[Line]) -> bool:
    """Whether there is a group for the table."""
    return bool(_groups(lines))


def misbehaviour_table(lines: Sequence[Line], lang: str) -> Table:
    """The table; groups in the order in which they have first finished."""
    groups = _groups(lines)
    labels = sorted({subject_label(line) for line in lines})
    rows = [
        (faults[0] if len(faults) == 1 else name, *(_cell(lines, label, name, lang) for label in labels))
        for name, faults in groups.items()
    ]
    n = sum(_group(line) in groups for line in lines)
    return Table(
        name="misbehaviour",
        title=_TITLE[lang],
        caption=_CAPTION[lang].format(n=n, s=_NOISE_S),
        headings=(_HEADING[lang], *labels),
        rows=tuple(rows),
    )


def _groups(lines: Iterable[Line]) -> dict[str, list[str]]:
    """The schedule groups that the table is about, with their faults as text."""
    found: dict[str, list[str]] = {}
    for line in lines:
        faults = [str(fault) for fault in line["schedule"].get("faults") or []]
        kinds = {kind_of(fault) for fault in faults}
        if "misbehaviour" in kinds and kinds <= {"misbehaviour", "kill"}:
            found.setdefault(_group(line), faults)
    return found


def _group(line: Line) -> str:
    return str(line["schedule"].get("group") or line["schedule"]["name"])


def _cell(lines: Sequence[Line], label: str, group: str, lang: str) -> str:
    own = [line for line in lines if subject_label(line) == label and line.get("data") and line.get("traffic")]
    controls = [line for line in own if line["control"]]
    trials = [line for line in own if not line["control"] and _group(line) == group]
    if not trials or not controls:
        return _NOT_RUN[lang]
    requests = _more(
        [line["traffic"]["requests"] for line in trials], [line["traffic"]["requests"] for line in controls]
    )
    wall_s = _more([line["time"]["wall_s"] for line in trials], [line["time"]["wall_s"] for line in controls])
    deaths = max(line["self_deaths"] for line in trials)
    parts = [*_findings(trials), *([_DIED[lang].format(n=deaths)] if deaths else []), f"{requests:+g}"]
    return ", ".join([*parts, f"{wall_s:+.1f} s"] if abs(wall_s) >= _NOISE_S else parts)


def _more(values: Sequence[float], than: Sequence[float]) -> float:
    return median(values) - median(than)


def _findings(trials: Sequence[Line]) -> list[str]:
    """The most keys that any trial of the group has of each finding, and endings that are not the wanted one."""
    most = {name: max((line["data"].get(name) or {}).get("count", 0) for line in trials) for name in _FINDINGS}
    endings = sorted({str(line["ending"]).replace("_", " ") for line in trials} - {"finished"})
    return [*(f"{count:,} {name}" for name, count in most.items() if count), *endings]
