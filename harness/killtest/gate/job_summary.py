"""gate.md: the judgement in Markdown, for a job's summary page."""

from collections.abc import Iterable, Sequence

from killtest.gate.baseline import Comparison
from killtest.gate.breach import Breach
from killtest.gate.judgement import Judgement, overall
from killtest.gate.tally import Tally, requests_over
from killtest.report.kill_counts import WINDOWS

_MARKS = {"PASS": "✅", "FAIL": "❌", "UNKNOWN": "❔"}
_COUNTS = ("lost", "missed", "duplicated", "corrupted")


def markdown(judgement: Judgement, folder: str) -> str:
    """The whole page: the overall line, the breaches, a table of the subjects, and the baseline."""
    parts = [f"## {_MARKS[judgement.outcome]} killtest gate: {judgement.outcome}", _text(overall(judgement))]
    parts += [_text(note) for note in judgement.notes]
    parts += [_breach(breach, folder) for breach in judgement.breaches]
    parts.append(_table(_HEAD, [_row(tally) for tally in judgement.tallies]))
    if judgement.comparisons:
        parts += ["### Against the baseline", _table(_BASE_HEAD, [_base_row(one) for one in judgement.comparisons])]
    return "\n\n".join(parts) + "\n"


_HEAD = (
    "subject",
    "expect",
    "trials",
    "FAIL",
    "kills struck (start-up/waiting/between/commit/idle)",
    *_COUNTS,
    "requests over, most",
)
_BASE_HEAD = ("subject", "figure", "ratio or difference, n, interval, test", "gates")


def _row(tally: Tally) -> list[str]:
    windows = "/".join(str(tally.windows[name]) for name in WINDOWS)
    over = [excess for line in tally.trials if (excess := requests_over(line)) is not None]
    counts = [str(tally.total(what)) for what in _COUNTS]
    struck = f"{tally.struck} ({windows})"
    most = str(max(over)) if over else "unknown"
    return [tally.subject, tally.expect, str(len(tally.trials)), str(len(tally.failed)), struck, *counts, most]


def _base_row(one: Comparison) -> list[str]:
    gates = "never" if one.limit is None else "worse" if one.is_worse else "not worse"
    return [one.subject, one.metric, one.words(), gates]


def _breach(breach: Breach, folder: str) -> str:
    head = f"{breach.outcome}: {breach.subject}, {breach.what}: {breach.message}; in {breach.where}"
    lines = [f"- **{_text(head)}**"]
    if breach.evidence:
        lines.append(f"  - evidence: {_code(f'{folder}/{breach.evidence}/')}")
    if breach.reproduce:
        lines.append(f"  - reproduce: {_code(breach.reproduce)}")
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_text(cell) for cell in line)} |" for line in lines)


def _text(text: str) -> str:
    """Text that Markdown shows as it is: names and error messages may hold its signs."""
    for sign in "\\`*_|<>":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return " ".join(text.split())


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{' '.join(text.split())}{fence}"
