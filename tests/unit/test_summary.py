"""The files of a summary: complete, repeatable, whole."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.report.summary import print_tables, timeline_trials, write_summary
from ledger_lines import control, failed, fault, trial, unknown, write_evidence
from rich.console import Console

LINES = [
    control("naive", 1, not_idempotent=True),
    failed("naive", 1),
    unknown("naive", 2),
    trial("idempotent", 1),
    trial("idempotent", 1, "request", schedule={"faults": ["request:25 KILL"]}),
]


def plan_of(trials: int) -> dict[tuple[str, str], list[str]]:
    """A plan of so many trials of `naive`."""
    return {("naive", "start-KILL"): [f"start-KILL-{i + 1}" for i in range(trials)]}


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_summary_begins_with_the_campaign_what_has_run_and_the_command(tmp_path: Path) -> None:
    text = write_summary(tmp_path, LINES, plan=plan_of(6), regenerate="killtest report mine").read_text()
    assert text.startswith("# Campaign article\n\nTrials finished: 4 of 6. Controls: 1.\n")
    assert "**Incomplete**: 2 planned trials have not finished." in text
    assert "    killtest report mine\n" in text


def test_a_complete_campaign_is_not_called_incomplete(tmp_path: Path) -> None:
    assert "Incomplete" not in write_summary(tmp_path, LINES, plan=plan_of(4)).read_text()
    assert "4 of not stated" in write_summary(tmp_path, LINES).read_text()


def test_summary_says_which_share_of_the_kills_hit_a_danger_window(tmp_path: Path) -> None:
    windows = ["waiting", "waiting", "between", "commit", "idle", "start-up", None]
    kills = [fault(window=window) for window in windows]
    other = trial("scrapy", schedule={"faults": ["after:0.5 KILL"]}, faults=[fault(window="between")])
    text = write_summary(tmp_path, [trial(faults=kills), other, control()]).read_text()
    assert (
        "Kill coverage: 5 of 8 kills hit a danger window: 2 waiting, 2 between answer and commit, 1 inside a commit; "
        "1 idle, 1 during start-up, 1 unknown.\n\n- naive: 4 of 7 kills hit "
    ) in text
    assert "- scrapy: 1 of 1 kills hit a danger window: 0 waiting, 1 between" in text


def test_summary_without_kills_says_nothing_of_coverage(tmp_path: Path) -> None:
    assert "Kill coverage: " not in write_summary(tmp_path, [control()]).read_text().partition("## ")[0]


def test_every_table_is_in_the_page_and_a_csv_and_every_link_leads_to_a_file(tmp_path: Path) -> None:
    text = write_summary(tmp_path, LINES).read_text()
    names = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert names == {
        "article-start-KILL", "article_ratios-start-KILL",
        "verdicts", "findings", "costs", "kills", "coverage", "controls",
    }  # fmt: skip
    assert text.count("\n## ") == len(names) + 2  # what was modelled, and the figures
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) >= 6
    assert all((tmp_path / link).exists() for link in links)
    assert len((tmp_path / "summary.csv").read_text().splitlines()) == 1 + len(LINES)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_same_lines_give_the_same_bytes(tmp_path: Path, lang: str) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_evidence(tmp_path / name, LINES[1])
        ordered = LINES if name == "one" else LINES[::-1]
        write_summary(tmp_path / name, ordered, lang, regenerate="killtest report article")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_both_languages_stand_beside_each_other(tmp_path: Path) -> None:
    write_summary(tmp_path, LINES)
    english = files(tmp_path)
    path = write_summary(tmp_path, LINES, "zh")
    both = files(tmp_path)
    assert path.name == "summary.zh.md"
    assert "killtest report" in path.read_text("utf-8")
    assert "--lang zh" in path.read_text("utf-8")
    assert {name: both[name] for name in english} == english
    assert {name.removesuffix(".zh.csv") for name in both if name.endswith(".zh.csv")} == {
        name.removesuffix(".csv") for name in english if name.startswith("tables")
    }


def test_making_it_again_leaves_nothing_besides(tmp_path: Path) -> None:
    write_summary(tmp_path, LINES)
    before = files(tmp_path)
    write_summary(tmp_path, LINES)
    assert files(tmp_path) == before
    assert not [name for name in before if Path(name).name.startswith(".")]


def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_summary(tmp_path, LINES)
    before = files(tmp_path)

    def disk_full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", disk_full)
    with pytest.raises(OSError, match="No space left"):
        write_summary(tmp_path, LINES[:2])
    assert files(tmp_path) == before


def test_a_folder_that_can_not_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"can't write .*file"):
        write_summary(tmp_path / "file", LINES)


def test_without_the_extra_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"killtest\[report\]"):
        write_summary(tmp_path, LINES)
    assert list(tmp_path.iterdir()) == []


def test_a_timeline_is_drawn_of_a_failure_that_kept_its_evidence(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        trial("naive", 1),
        failed("naive", 2),
        failed("naive", 3),
        trial("idempotent", 1),
    ]
    for line in (lines[0], lines[2]):
        write_evidence(tmp_path, line)
    chosen = timeline_trials(tmp_path, lines)
    assert chosen == {"naive": lines[2], "idempotent": None}
    text = write_summary(tmp_path, lines).read_text()
    assert "(figures/timeline-naive--start-KILL-3.png)" in text
    assert "No timeline for idempotent: no trial has kept its evidence." in text


def test_the_order_of_finishing_does_not_choose_the_timeline(tmp_path: Path) -> None:
    lines = [failed("naive", 1), failed("naive", 2)]
    for line in lines:
        write_evidence(tmp_path, line)
    assert timeline_trials(tmp_path, lines) == timeline_trials(tmp_path, lines[::-1]) == {"naive": lines[0]}


def test_names_of_groups_can_not_leave_the_folder(tmp_path: Path) -> None:
    write_summary(tmp_path / "campaign", [trial(group="../../request:/product/7 KILL")])
    assert list(tmp_path.iterdir()) == [tmp_path / "campaign"]
    assert (tmp_path / "campaign/tables/article-..-..-request-product-7-KILL.csv").is_file()


def test_a_campaign_of_which_nothing_has_run_has_a_summary(tmp_path: Path) -> None:
    text = write_summary(tmp_path, [], plan=plan_of(10)).read_text()
    assert "Trials finished: 0 of 10" in text
    assert "no trials finished yet" in text
    assert "figures/" not in text


def test_printing_shows_the_tables_in_the_language_asked_for() -> None:
    out = io.StringIO()
    print_tables(LINES, "zh", Console(file=out))
    assert "运行次数  朴素爬虫:存储行数  朴素爬虫:请求数  幂等爬虫:存储行数  幂等爬虫:请求数" in out.getvalue()
    assert "UNKNOWN" in out.getvalue()


def test_printing_in_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="--lang fr"):
        print_tables(LINES, "fr", Console(file=io.StringIO()))
