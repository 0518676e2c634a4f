"""The summary of a campaign: summary.md, summary.csv, tables/*.csv and figures/*, derived from the ledger.

In Chinese it is summary.zh.md with tables/*.zh.csv beside them; figures are the same.

Whatever is written can be thrown away and made again: same lines, same bytes. The one thing that is read
besides the lines is the evidence of the trials that get a timeline.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from killtest.laboratory.facts import Ledger
from killtest.laboratory.laboratory_figure import laboratory_figure
from killtest.laboratory.laboratory_report import has_laboratory, laboratory_tables
from killtest.laboratory.matrix import points
from killtest.report.article import article_groups, article_tables, has_article
from killtest.report.comparison import comparison_tables
from killtest.report.figure import article_figure, comparison_figure, image
from killtest.report.frame import Line, Plan, ledger_frame, subject_label, trials_csv
from killtest.report.headings import Words, words
from killtest.report.kill_counts import count_kills
from killtest.report.lapses import lapsed_pages
from killtest.report.misbehaviour import has_misbehaviour, misbehaviour_table
from killtest.report.modelled import modelled
from killtest.report.mtbf import mtbf_table
from killtest.report.output import replace_file
from killtest.report.table import Table, csv_text, markdown, print_table
from killtest.report.timeline import timeline_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

OUTCOME_ORDER = ("FAIL", "UNKNOWN", "PASS")


def all_tables(
    lines: Sequence[Line], lang: str = "en", plan: Plan | None = None, campaign_dir: Path | None = None
) -> list[Table]:
    """Every table of a report; those of the laboratory are its own.

    Of other campaigns the first article's and completion by rate of kills, where they apply, then the comparison.

    `campaign_dir` is where the laboratory looks for what its benches have written. Raises UsageError when pandas is
    missing, a trial occurs twice, or there are no tables in that language.
    """
    if has_laboratory(lines):  # a comparison of its forty variants would say the same in two hundred lines
        ledger_frame(lines)
        return laboratory_tables(lines, lang, campaign_dir)
    article = article_tables(lines, lang, plan) if has_article(lines) else []
    site = [misbehaviour_table(lines, lang)] if has_misbehaviour(lines) else []
    completion = mtbf_table(lines, lang)
    return [*article, *site, *([completion] if completion else []), *comparison_tables(lines, lang, plan)]


def print_tables(
    lines: Sequence[Line], lang: str, console: Console, plan: Plan | None = None, campaign_dir: Path | None = None
) -> None:
    """Print every table, drawn on a terminal, as plain text elsewhere, and then what was modelled.

    Raises what `all_tables` raises.
    """
    for table in all_tables(lines, lang, plan, campaign_dir):
        print_table(table, console)
    console.print("\n" + "\n".join(modelled(lines, lang)), highlight=False, markup=False, soft_wrap=True)


def write_summary(
    campaign_dir: Path,
    lines: Sequence[Line],
    lang: str = "en",
    plan: Plan | None = None,
    regenerate: str | None = None,
) -> Path:
    """Write the summary of a campaign into its folder and return the path of summary.md.

    `lines` are the ledger's lines, `plan` what the campaign was to run (None: not known),
    and `regenerate` the command shown for making all this again. Each file appears whole or not at all;
    summary.md is the last, so that it never links to what is not there. Raises UsageError before anything is
    written when pandas or matplotlib is missing, a trial occurs twice, or there are no tables in that
    language.
    """
    text = words(lang)
    tables = all_tables(lines, lang, plan, campaign_dir)
    suffix = "" if lang == "en" else f".{lang}"
    planned = None if plan is None else sum(map(len, plan.values()))
    replace_file(campaign_dir / "summary.csv", trials_csv(lines).encode())
    for table in tables:
        replace_file(campaign_dir / "tables" / f"{_file_name(table.name)}{suffix}.csv", csv_text(table).encode())
    links = [_write_figure(campaign_dir, *figure) for figure in _figures(campaign_dir, lines, text, plan)]
    links += _missing_timelines(campaign_dir, lines, text)
    language = "" if lang == "en" else f" --lang {lang}"
    command = regenerate or f"killtest report {shlex.quote(str(campaign_dir))}{language}"
    parts = [_head(campaign_dir, lines, text, planned, command), *map(markdown, tables)]
    parts.append("\n\n".join([f"## {text['summary_modelled']}", *modelled(lines, lang)]) + "\n")
    parts.append("\n\n".join([f"## {text['summary_figures']}", *links]) + "\n")
    path = campaign_dir / f"summary{suffix}.md"
    replace_file(path, "\n".join(parts).encode())
    return path


def _head(campaign_dir: Path, lines: Sequence[Line], text: Words, planned: int | None, command: str) -> str:
    """What the campaign is, how much of it has run, and how this page is made again."""
    names = sorted({str(line["campaign"]) for line in lines if line.get("campaign")}) or [campaign_dir.name]
    controls = sum(bool(line.get("control")) for line in lines)
    finished = len(lines) - controls
    parts = [f"# {text['summary_title'].format(campaign=', '.join(names))}"]
    shown = text["summary_unplanned"] if planned is None else planned
    parts.append(text["summary_finished"].format(finished=finished, planned=shown, controls=controls))
    if planned is not None and finished < planned:
        parts.append(text["summary_incomplete"].format(left=planned - finished))
    parts += _coverage(lines, text)
    parts += lapsed_pages(lines, text)
    parts += [text["summary_command"], f"    {command}", text["summary_files"]]
    return "\n\n".join(parts) + "\n"


def _coverage(lines: Sequence[Line], text: Words) -> list[str]:
    """How many kills of the campaign hit a danger window, and how many of each subject; nothing without kills."""
    by_subject: dict[str, Counter[str]] = {}
    for line in lines:
        kills = count_kills(line)
        by_subject.setdefault(subject_label(line), Counter()).update(asdict(kills) | {"danger": kills.danger})
    told = [f"- {name}: {_sentence(sums, text)}" for name, sums in sorted(by_subject.items()) if sums["struck"]]
    if not told:
        return []
    total = _sentence(sum(by_subject.values(), Counter()), text)
    return [text["summary_coverage"].format(sentence=total), "\n".join(told)]


def _sentence(sums: Counter[str], text: Words) -> str:
    names = ("danger", "struck", "waiting", "between", "commit", "idle", "start_up", "window_unknown")
    return text["summary_coverage_sentence"].format_map({name: sums[name] for name in names})


def _figures(
    campaign_dir: Path, lines: Sequence[Line], text: Words, plan: Plan | None
) -> Iterator[tuple[str, str, Figure]]:
    """File name without ending, title and drawing of each figure, one at a time."""
    if has_article(lines):
        for group in article_groups(lines):
            title = text["summary_article_figure"].format(group=group)
            yield f"article-{group}", title, article_figure(lines, group, plan)
    if has_laboratory(lines):
        yield "jobdir", text["summary_laboratory_figure"], laboratory_figure(points(Ledger(lines)))
        return
    if any(not line.get("control") for line in lines):
        yield "comparison", text["summary_comparison_figure"], comparison_figure(lines, plan)
    for line in timeline_trials(campaign_dir, lines).values():
        if line is not None:
            title = text["summary_timeline"].format(trial=line["id"])
            yield f"timeline-{line['id']}", title, timeline_figure(line, _evidence(campaign_dir, line))


def timeline_trials(campaign_dir: Path, lines: Sequence[Line]) -> dict[str, Line | None]:
    """For each subject the trial whose timeline is drawn, or None where no trial has kept its evidence.

    A FAIL is preferred to an UNKNOWN and that to a PASS; among equals the first in the order of the tables.
    """
    by_id = {(line.get("campaign"), line["id"]): line for line in lines}
    frame = ledger_frame(lines)
    order = [by_id[key] for key in zip(frame["campaign"], frame["id"], strict=True)]
    trials = [line for line in order if not line.get("control")]
    chosen: dict[str, Line | None] = {subject_label(line): None for line in trials}
    for outcome in OUTCOME_ORDER:
        for line in trials:
            same = (line.get("outcome") or "UNKNOWN") == outcome
            if same and chosen[subject_label(line)] is None and _has_evidence(campaign_dir, line):
                chosen[subject_label(line)] = line
    return chosen


def _missing_timelines(campaign_dir: Path, lines: Sequence[Line], text: Words) -> list[str]:
    """For each subject without evidence the timeline that was drawn while there was some, or that there is none."""
    if has_laboratory(lines):
        return []
    without = [label for label, line in timeline_trials(campaign_dir, lines).items() if line is None]
    kept = {label: _drawn(campaign_dir, lines, label) for label in without}
    told = [text["summary_no_timeline"].format(subject=label) for label, trial in kept.items() if trial is None]
    shown = [(trial, text["summary_timeline"].format(trial=trial)) for trial in kept.values() if trial is not None]
    return [*(_link(_file_name(f"timeline-{trial}"), title) for trial, title in shown), *told]


def _drawn(campaign_dir: Path, lines: Sequence[Line], label: str) -> str | None:
    """The trial of that subject whose timeline lies there."""
    own = [str(line["id"]) for line in lines if subject_label(line) == label]
    figures = campaign_dir / "figures"
    return next((one for one in own if (figures / f"{_file_name(f'timeline-{one}')}.png").is_file()), None)


def _evidence(campaign_dir: Path, line: Line) -> Path:
    """The folder of a trial's evidence."""
    return campaign_dir / str(line["evidence"])


def _has_evidence(campaign_dir: Path, line: Line) -> bool:
    """Whether the files that a timeline is drawn from were kept."""
    if not line.get("evidence"):
        return False
    return all((_evidence(campaign_dir, line) / name).is_file() for name in ("history.jsonl", "site.jsonl"))


def _write_figure(campaign_dir: Path, name: str, title: str, drawing: Figure) -> str:
    """Write a figure as PNG and SVG and return its Markdown link."""
    stem = _file_name(name)
    for kind in ("png", "svg"):
        replace_file(campaign_dir / "figures" / f"{stem}.{kind}", image(drawing, kind))
    return _link(stem, title)


def _link(stem: str, title: str) -> str:
    return f"### {title}\n\n![{title}](figures/{stem}.png)\n\n[SVG](figures/{stem}.svg)"


def _file_name(name: str) -> str:
    """A name that is safe as a file name and in a link on every platform; group names may hold anything."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "unnamed"
