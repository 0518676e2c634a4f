"""What the pages of a campaign show, as data, and how it gets into a page."""

import json
from pathlib import Path
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.report.mtbf import mtbf_table, points
from killtest.report.pages import document
from killtest.report.pages.campaign_pages import trial_page, write_pages
from killtest.report.pages.document import Document, html, json_text, script_text
from killtest.report.pages.index_data import COLUMNS, index_data
from killtest.report.pages.map_data import map_data, mark
from killtest.report.pages.trial_data import trial_data
from ledger_lines import control, failed, fault, trial, unknown, write_evidence

EVIL = "</script><!--&\u2028"


def no_page(line: Any) -> None:
    """No trial has kept its evidence."""


def timed(mean_s: str, number: int, **changes: Any) -> dict[str, Any]:
    """A trial of `naive` under kills with that mean between them."""
    return trial("naive", number, f"mtbf-{mean_s}", **changes)


def test_trials_are_short_rows_in_the_order_of_the_columns() -> None:
    lines = [
        control(),
        failed(data={"lost": {"count": 3, "keys": {}}, "set_back": {"count": 9, "keys": {}}}),
        unknown(),
    ]
    lines[2] |= {"id": "other", "schedule": lines[2]["schedule"] | {"name": "start-KILL-2"}}
    told = index_data(lines, None, lambda line: "p" if line["outcome"] == "FAIL" else None)
    rows = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in told["trials"]}
    bad = rows["naive--start-KILL-1"]
    assert bad["findings"] == {"lost": 3, "duplicated": 100}  # what was set back is a cost
    assert (bad["rows"], bad["products"], bad["requests"], bad["minimum"]) == (600, 500, 626, 525)
    assert (bad["danger"], bad["struck"], bad["planned"], bad["page"]) == (1, 1, 1, "p")
    assert told["outcomes"][rows["other"]["outcome"]] == "UNKNOWN"
    assert rows["other"]["page"] is None


def test_cells_of_the_comparison_have_counts_and_wilson_intervals() -> None:
    told = index_data([failed(), trial(number=2), unknown(number=3)], None, no_page)
    (cell,) = told["comparison"]
    assert (cell["pass"], cell["fail"], cell["unknown"], cell["missing"]) == (1, 1, 1, 0)
    assert cell["interval"] == [0.0945, 0.9055]  # Wilson, 1 of 2
    assert cell["rows"] == [1.0, 1.1, 1.2]
    assert told["coverage"] == [
        {
            "subject": "naive",
            "struck": 2,
            "danger": 2,
            "rate": "100 % [34 %–100 %]",
            "windows": {"start-up": 0, "waiting": 2, "between": 0, "commit": 0, "idle": 0, "unknown": 0},
        }
    ]


def test_completion_counts_what_never_finished_of_what_was_judged() -> None:
    late: dict[str, Any] = {"outcome": "FAIL", "ending": "out_of_time"}
    wrong = {"outcome": "FAIL", "cause": "faults"}
    lucky = timed("2", 3, outcome="UNKNOWN", faults=[fault("not_reached")])
    broken = timed("2", 2, outcome="UNKNOWN", data={}, ending=None)
    lines = [timed("0.5", 1, **late), timed("0.5", 2, **wrong), timed("2", 1), broken, lucky]
    lines += [
        trial(),
        control(),
        trial("naive", 1, "mtbf-3") | {"schedule": {"group": "mtbf-3", "faults": ["request:3 KILL"]}},
    ]
    low, high = points(lines)
    assert (low["mtbf_s"], low["n"], low["finished"], low["right"], low["never"]) == (0.5, 2, 1, 0, 1)
    assert low["endings"] == {"out_of_time": 1}
    assert low["never_share"] == [0.0945, 0.5, 0.9055]
    assert (high["n"], high["unknown"], high["never"], high["wall_s"]) == (2, 1, 0, [3.25, 3.25, 3.25])
    assert (high["finished"], high["untouched"], high["right"]) == (2, 1, 2)  # over before the first kill: it finished
    table = mtbf_table(lines)
    assert table is not None
    assert table.rows[0][:7] == ("naive", "0.5", 2, 0, 1, 0, 0)
    assert table.rows[0][8:10] == ("out_of_time 1", "3.2")
    assert mtbf_table([trial()]) is None
    assert mtbf_table(lines, "zh") is not None


def test_a_trial_tells_requests_rows_and_when_its_faults_struck(tmp_path: Path) -> None:
    line = failed(faults=[fault(), fault("not_reached", incarnation=1)])
    folder = write_evidence(tmp_path, line)
    told = trial_data(line, folder, "../../index.html")
    requests = told["requests"]
    assert [requests["kinds"][place] for place in requests["kind"]] == ["first", "first", "repeated", "first", "late"]
    assert [requests["paths"][place] for place in requests["path"]][-1] == "/product/2"
    assert [(one["at_s"], one["is_kill"]) for one in told["faults"]] == [(0.5, True), (None, True)]
    assert told["rows_after"] == [(0.0, 0), (0.5, 95), (3.2, 500)]
    assert [name for name, _ in told["files"]] == ["history.jsonl", "site.jsonl"]
    assert told["unreadable"] is None


def test_products_answered_are_counted_once_and_only_when_sent(tmp_path: Path) -> None:
    line = trial()
    folder = write_evidence(tmp_path, line)
    answers = [("SKU-1", "sent", 100.3), ("SKU-1", "sent", 100.4), ("SKU-2", "gone", 100.5), ("SKU-3", "sent", 100.6)]
    with (folder / "site.jsonl").open("w") as file:
        for seq, (key, outcome, ended_s) in enumerate(answers):
            entry = {"seq": seq, "incarnation": 0, "path": f"/product/{seq}", "kind": "page", "arrived_s": 100.1}
            file.write(json.dumps(entry | {"key": key, "outcome": outcome, "ended_s": ended_s}) + "\n")
    assert trial_data(line, folder, "i")["answered"] == [[0.0, 0], [0.3, 1], [0.6, 2]]


def test_evidence_outside_the_campaign_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    campaign = tmp_path / "campaign"
    (campaign / "trials" / "a b#c").mkdir(parents=True)
    assert trial_page(campaign, trial(evidence="../elsewhere")) is None
    assert trial_page(campaign, trial(evidence=".")) is None
    assert trial_page(campaign, trial(evidence="trials/gone")) is None
    assert trial_page(campaign, trial(evidence="trials/a b#c")) == "trials/a%20b%23c/index.html"


def test_marks_of_a_map_say_whether_a_true_kill_agreed() -> None:
    outcomes = [("PASS", None), ("FAIL", True), ("FAIL", False), ("FAIL", None), ("UNKNOWN", None)]
    marks = [mark({"outcome": outcome, "confirmed": confirmed}) for outcome, confirmed in outcomes]
    assert marks == ["PASS", "confirmed", "false", "derived", "unknown"]


def test_a_torn_file_of_points_is_named(tmp_path: Path) -> None:
    assert map_data(tmp_path, no_page) is None
    (tmp_path / "points.jsonl").write_text('{"k": 1, "outcome": "PASS"}\n{"outcome": "PASS"}\n')
    with pytest.raises(UsageError, match=r"points\.jsonl, line 2: no point of a map .* explore again"):
        map_data(tmp_path, no_page)


def test_data_in_a_page_can_not_end_the_script_around_it() -> None:
    text = json_text({EVIL: EVIL})
    assert not any(character in text for character in "<>&\u2028")
    assert json.loads(text) == {EVIL: EVIL}
    assert script_text("a = '</script>'") == "a = '<\\/script>'"
    page = html(Document(EVIL, {"key": EVIL}, ()))
    assert page.count("</script") == page.count("<script")
    assert "<title>&lt;/script&gt;" in page


def test_pages_name_no_address_outside(tmp_path: Path) -> None:
    write_pages(tmp_path, [failed()])
    text = (tmp_path / "index.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert 'src="http' not in text
    for name in ("dom.js", "index.js", "map.js", "trial.js", "page.css"):
        assert "fetch(" not in document.asset(name)
        assert "innerHTML" not in document.asset(name)


def test_same_lines_give_the_same_pages(tmp_path: Path) -> None:
    lines = [trial(), failed("idempotent"), control()]
    for name, ordered in (("a", lines), ("b", lines[::-1])):
        (tmp_path / name / "c").mkdir(parents=True)
        write_pages(tmp_path / name / "c", ordered)
    assert (tmp_path / "a/c/index.html").read_bytes() == (tmp_path / "b/c/index.html").read_bytes()


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"figures and pages need vl_convert.*pip install 'killtest\[report\]'"):
        write_pages(tmp_path, [trial()])
    assert not (tmp_path / "index.html").exists()
