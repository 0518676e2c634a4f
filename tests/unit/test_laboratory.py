"""The laboratory's tables: what they say of lines that are known, and that every relation can fail."""

from __future__ import annotations

import copy
import json
import string
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from killtest.errors import UsageError
from killtest.laboratory.answer_table import answer_table
from killtest.laboratory.answers import ANSWERS
from killtest.laboratory.article_table import article_table
from killtest.laboratory.damage_table import FILES, HOWS, damage_table
from killtest.laboratory.facts import Absent, Ledger
from killtest.laboratory.files_table import files_table
from killtest.laboratory.flush_table import flush_table
from killtest.laboratory.laboratory_figure import laboratory_figure
from killtest.laboratory.laboratory_report import has_laboratory, laboratory_tables
from killtest.laboratory.matrix import SCHEDULES, matrix_table, points
from killtest.laboratory.mechanism_table import mechanism_table
from killtest.laboratory.mechanisms import MECHANISMS
from killtest.laboratory.published import EXPERIMENTS
from killtest.laboratory.scale_table import scale_table
from killtest.laboratory.words import LANGUAGES, said
from killtest.plan import campaign, subject
from killtest.report.figure import image
from laboratory_lines import article, clean_stop, emptied, incarnation, jobdir, killed, line, locked, start_urls

Line = dict[str, Any]


def test_the_articles_own_figures_give_its_own_table() -> None:
    rows = article_table(Ledger(article()), 0).rows
    assert [row[2] for row in rows] == [f"{row[3]:,}" if isinstance(row[3], int) else row[3] for row in rows]
    assert {row[6] for row in rows} == {"true"}
    assert len(rows) == 34


def _less(changed: Line, n: int, key: str, value: object) -> None:
    changed["incarnations"][n]["jobdir"][key] = value


def _stat(n: int, name: str, value: object) -> Callable[[Line], None]:
    return lambda changed: changed["incarnations"][n]["jobdir"]["stats"].__setitem__(name, value)


def _size(n: int, ending: str, value: int) -> Callable[[Line], None]:
    def change(changed: Line) -> None:
        sizes = changed["incarnations"][n]["jobdir"]["files"]
        sizes[next(path for path in sizes if path.endswith(ending))] = value

    return change


def _queue(name: str, value: int) -> Callable[[Line], None]:
    return lambda changed: changed["incarnations"][0]["jobdir"]["queues"][0].__setitem__(name, value)


def _requests(n: int, requests: int, start_page: int) -> Callable[[Line], None]:
    return lambda changed: changed["incarnations"][n].update(requests=requests, start_page=start_page)


# Each relation of the table, and a change to the article's own figures that breaks it.
BROKEN = [
    ("pages downloaded in run 1", clean_stop, _requests(0, 18, 1)),
    ("scheduler/enqueued", clean_stop, _stat(0, "scheduler/enqueued", 40)),
    ("scheduler/dequeued", clean_stop, _stat(0, "scheduler/dequeued", 20)),
    ("finish_reason", clean_stop, _stat(0, "finish_reason", "finished")),
    ("requests.seen, bytes", clean_stop, _size(0, "requests.seen", 880)),
    ("q00000, bytes", clean_stop, _queue("records", 22)),
    ("info.json, bytes", clean_stop, _queue("believed", 21)),
    ("active.json, bytes", clean_stop, lambda changed: _less(changed, 0, "index", {"127.0.0.1": [0, 1]})),
    ("spider.state, bytes", clean_stop, lambda changed: _less(changed, 0, "state", {"count": 18, "urls": 17})),
    ("pages in run 2", clean_stop, _requests(1, 23, 0)),
    ("start page sent in run 2", clean_stop, _requests(1, 23, 1)),
    ("dupefilter/filtered", clean_stop, _stat(1, "dupefilter/filtered", 2)),
    ("overlap of the two runs, of 40 pages", clean_stop, lambda changed: changed["traffic"].update(overlap=1)),
    ("active.json after run 2, bytes", clean_stop, lambda changed: _less(changed, 1, "index", {"127.0.0.1": [0]})),
    ("requests.seen after run 2, bytes", clean_stop, _size(1, "requests.seen", 924)),
    ("spider.state after run 2, bytes", clean_stop, _size(1, "spider.state", 135)),
    ("self.state: count and URLs", clean_stop, lambda changed: _less(changed, 1, "state", {"count": 41, "urls": 41})),
    ("requests in run 3", clean_stop, _requests(2, 1, 1)),
    ("requests with default start_urls", start_urls, _requests(2, 2, 1)),
    ("dupefilter/filtered", start_urls, _stat(2, "dupefilter/filtered", 39)),
    ("requests.seen, bytes", killed, _size(0, "requests.seen", 506)),
    ("q00000, bytes", killed, _queue("records", 39)),
    ("pages before", killed, _requests(0, 41, 1)),
    ("pages after", killed, _requests(1, 19, 1)),
    ("overlap", killed, lambda changed: changed["traffic"].update(overlap=1)),
    ("missing", killed, lambda changed: changed["data"]["missed"].update(count=1)),
    ("scheduler/dequeued in run 2", killed, _stat(1, "scheduler/dequeued", 40)),
    ("scheduler/unserializable", locked, _stat(0, "scheduler/unserializable", 39)),
    ("scheduler/enqueued/memory", locked, _stat(0, "scheduler/enqueued/memory", 39)),
    ("scheduler/enqueued/disk", locked, _stat(0, "scheduler/enqueued/disk", 2)),
    ("pages in run 1", locked, _requests(0, 41, 1)),
    ("pages in run 2", locked, _requests(1, 1, 0)),
    ("lost for good", locked, lambda changed: changed["data"]["missed"].update(count=23)),
]


@pytest.mark.parametrize(("figure", "trial", "change"), BROKEN, ids=[f"{t.__name__}-{f}" for f, t, _ in BROKEN])
def test_a_relation_that_does_not_hold_is_false(
    figure: str, trial: Callable[[], Line], change: Callable[[Line], None]
) -> None:
    changed = copy.deepcopy(trial())
    change(changed)
    rows = [row for row in article_table(Ledger([changed]), 0).rows if row[1] == figure]
    assert "false" in [row[6] for row in rows]


def test_every_relation_of_the_article_is_among_those() -> None:
    names = {figure.name[0] for experiment in EXPERIMENTS for figure in experiment.figures}
    assert names == {name for name, _, _ in BROKEN}


@pytest.mark.parametrize("lang", [0, 1])
def test_what_has_not_run_says_so_in_every_table(lang: int) -> None:
    nothing = ("no data", "无数据")[lang]
    tables = laboratory_tables([], LANGUAGES[lang], None)
    assert {row[3] for row in tables[0].rows} == {nothing}
    assert {row[2] for row in tables[2].rows} == {nothing, "–"}  # Windows stays open: nothing holds there
    assert {row[3] for row in tables[3].rows} == {("not run", "未运行")[lang]}
    assert {row[1] for row in tables[6].rows} == {nothing}
    assert all(tables[i].rows == () for i in (1, 4, 5, 7))


def test_an_unknown_trial_is_no_measurement() -> None:
    with pytest.raises(Absent):
        Ledger([line("article", "article-INT", [], outcome="UNKNOWN")]).of("article", "article-INT")


def test_the_campaign_has_every_trial_that_a_table_asks_for() -> None:
    spec = campaign.load(campaign.find("jobdir"))
    planned = {
        (f"{one.subject.name}:{one.subject.variant}" if one.subject.variant else one.subject.name, one.schedule.name)
        for one in campaign.plan(spec, {name: subject.find(name) for name in spec.subjects})
    }
    wanted = {
        (f"scrapy_jobdir:{one.variant}", name) for one in EXPERIMENTS for name in (one.schedule, one.timer) if name
    }
    wanted |= {(f"scrapy_jobdir:{name}_{how}", "damaged") for name in FILES for how in HOWS}
    wanted |= {(name, schedule) for name in ("scrapy_jobdir", "scrapy_durable") for schedule in SCHEDULES}
    killing = [name for name in SCHEDULES if "KILL" in name]
    wanted |= {(f"scrapy_durable:{name}", schedule) for name in ("star", "next_first") for schedule in killing}
    assert wanted <= planned
    asked = _Asked()
    for answer in ANSWERS:
        if answer.name != "durable":  # asks for whatever there is
            asked.through(answer.values)
    assert asked.trials
    assert asked.trials <= planned


class _Asked(Ledger):
    """A ledger that notes what it is asked for and answers with the same trial."""

    def __init__(self) -> None:
        super().__init__([])
        self.trials: set[tuple[str, str]] = set()

    def of(self, variant: str | None, schedule: str, subject: str = "scrapy_jobdir") -> Any:
        self.trials.add((f"{subject}:{variant}" if variant else subject, schedule))
        return Ledger([clean_stop()]).of("article", "article-INT")

    def control(self, variant: str) -> Any:
        self.trials.add((f"scrapy_jobdir:{variant}", "control-1"))
        return Ledger([clean_stop()]).of("article", "article-INT")

    def through(self, ask: Callable[[Ledger], Any]) -> None:
        ask(self)


def test_every_mechanism_names_a_variant_and_faults_that_there_are() -> None:
    from killtest.plan.fault_text import parse

    for mechanism in MECHANISMS:
        assert subject.find(f"scrapy_jobdir:{mechanism.variant}").variant == mechanism.variant
        assert [parse(text).text for text in mechanism.faults]


def test_both_languages_say_everything_with_the_same_places() -> None:
    def walk(table: Any, path: str) -> None:
        if set(table) == set(LANGUAGES):
            places = [{name for _, name, _, _ in string.Formatter().parse(table[lang]) if name} for lang in LANGUAGES]
            assert all(table[lang].strip() for lang in LANGUAGES), path
            assert places[0] == places[1], path
            return
        for name, inner in table.items():
            walk(inner, f"{path}.{name}")

    walk(tomllib.loads(files("killtest.laboratory").joinpath("words.toml").read_text("utf-8")), "words")
    for answer in ANSWERS:
        assert said(f"answers.{answer.name}.question", 1)


def test_the_matrix_shows_missing_repeated_and_what_else_was_found() -> None:
    starts = [incarnation(0, 250, 1, jobdir())]
    hung = line("fifo", "shop-KILL", starts, missing=275, repeated=1, products=500, ending="hung")
    hung["data"]["corrupted"] = {"count": 2, "keys": {}}
    ledger = Ledger([hung, line(None, "shop-INT", starts, subject="scrapy_durable", products=500)])
    table = matrix_table(ledger, 0)
    assert [row[0] for row in table.rows] == ["scrapy_jobdir:fifo", "scrapy_durable"]
    assert table.rows[0][4] == "275 (1), 2 corrupted, hung"
    assert table.rows[1][1:3] == ("0 (0)", "–")
    assert "500" in table.caption
    assert [(one.missing, one.repeated) for one in points(ledger)] == [(275, 1), (0, 0)]
    assert image(laboratory_figure(points(ledger)), "svg") == image(laboratory_figure(points(ledger)), "svg")
    laboratory_figure([])


def test_the_durable_scheduler_is_judged_over_all_its_trials_but_not_the_caches() -> None:
    def trial(variant: str | None, **facts: Any) -> Line:
        return line(variant, "shop-KILL", [], subject="scrapy_durable", **facts) | {"faults": [{}, {}]}

    def row(*lines: Line) -> Any:
        return next(row for row in answer_table(Ledger(list(lines)), 0).rows if "59 lines" in row[1])

    sound = [trial(None, repeated=40), trial("no_backlog", repeated=20), trial("http_cache", missing=1)]
    assert "2 of 2 trials" in row(*sound)[1]
    assert "at most 20 requests" in row(*sound)[1]
    assert row(*sound)[2] == "true"
    assert row(*sound[1:], trial(None, missing=1))[2] == "false"


def test_a_control_is_asked_for_apart() -> None:
    control = line("two_processes", "control-1", [], missing=1, repeated=600) | {"control": True}
    ledger = Ledger([control])
    assert (ledger.lines, ledger.control("two_processes").repeated) == ([], 600)
    with pytest.raises(Absent, match="no control of scrapy_jobdir:fifo"):
        ledger.control("fifo")


def test_flushes_come_in_the_order_of_their_requests() -> None:
    def flush(n: int, found: int) -> Line:
        before = jobdir(fingerprints=found, files={"requests.seen": 22 * found})
        return line("chain", f"flush-1-{n}", [incarnation(0, n, 1, before), incarnation(1, 1, 1, emptied())], missing=9)

    rows = flush_table(Ledger([flush(188, 186), flush(187, 0)]), 0).rows
    assert rows == ((187, 186, 0, 0, 0, 1, 9), (188, 187, 186, 4092, 0, 1, 9))


def test_the_files_of_the_articles_jobdir() -> None:
    rows = {Path(row[0]).name: row[1:] for row in files_table(Ledger(article()), 0).rows}
    assert rows["requests.seen"][0::3] == (902, "41 fingerprints of 2 + 20 bytes")
    assert rows["spider.state"][3] == "count: 18, urls: 18 (lists by their length)"
    assert rows["active.json"][3] == "{'127.0.0.1': [0]}"
    assert rows["info.json"][3] == "22 requests left"
    assert rows["q00000"][1:4:2] == ("10,510", "40 records, 22 of them behind the position")


def test_a_damaged_file_and_what_it_cost() -> None:
    starts = [incarnation(0, 30, 1, jobdir()), incarnation(1, 0, 0, jobdir())]
    table = damage_table(Ledger([line("index_cut", "damaged", starts, missing=20, ending="refused_start")]), 1)
    row = next(row for row in table.rows if row[0] == "active.json")
    assert row == ("active.json", "无数据", "20 (0), refused_start", "无数据")


def measured(**changes: Any) -> Line:
    """A line of mechanisms.jsonl."""
    queue = jobdir()["queues"][0] | {"kind": "lifo", "records": 19, "believed": None}
    before = jobdir(files={"requests.seen": 4092}, fingerprints=186, index=None, queues=[queue])
    starts = [incarnation(0, 188, 1, before, ended_by="fault"), incarnation(1, 1, 1, emptied())]
    trial = line("chain", "request-188-KILL", starts, missing=313, repeated=1)
    told = {"name": "forgotten-queue", "faults": ["request:188 KILL"], "shown": True, "command": "killtest run …"}
    return told | {"line": trial, "durable": line(None, "request-188-KILL", [], products=500, repeated=8)} | changes


def test_a_mechanism_shows_its_shortest_schedule_and_the_files_at_the_kill() -> None:
    row = mechanism_table([measured()], 0).rows[0]
    assert row[2:4] == ("request:188 KILL", "313 (1)")
    assert row[4] == (
        "requests.seen 4,092 bytes, 186 fingerprints; no active.json; "
        "LIFO queue 0: 19 records, its count says nothing: it can't be read"
    )
    assert row[5] == "PASS 0 (8)"
    assert row[7] == "durable scheduler metadata (active.json); a crash-safe duplicate filter"
    assert mechanism_table([measured(shown=False)], 0).rows[0][3] == "not shown in this run"
    assert "explore visits" in str(mechanism_table([measured(durable=None)], 0).rows[0][5])


def test_the_queue_at_scale() -> None:
    figures = {"requests": 100000.0, "queue_bytes_each": 250.42, "enqueue_s": None}
    told = {"scrapy": "2.19.0", "queuelib": "1.10.0", "python": "3.11.7", "requests": 100000, "within_s": 25.0}
    table = scale_table(told | {"fsync_ms": 0.1, "repeat": 1, "queues": {"PickleLifoDiskQueue": figures}}, 0)
    assert table.rows[0][:3] == ("PickleLifoDiskQueue", "100,000", "250.4")
    assert table.rows[0][4] == "none"
    assert scale_table(None, 0).rows == ()


def test_what_the_benches_wrote_is_read_beside_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "mechanisms.jsonl").write_text(json.dumps(measured()) + "\n", "utf-8")
    tables = {table.name: table for table in laboratory_tables(article(), "en", tmp_path)}
    assert tables["jobdir-mechanisms"].rows[0][3] == "313 (1)"
    (tmp_path / "scale.json").write_text("{", "utf-8")
    with pytest.raises(UsageError, match=r"scale\.json: .*make jobdir"):
        laboratory_tables(article(), "en", tmp_path)


@pytest.mark.parametrize("text", ["{}", json.dumps(measured(line={})), json.dumps(measured(faults=7))])
def test_mechanisms_of_another_shape_are_said_to_be_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "mechanisms.jsonl").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"mechanisms\.jsonl is of another shape .*make jobdir"):
        laboratory_tables(article(), "en", tmp_path)


@pytest.mark.parametrize("text", ["{}", '{"queues": {"a": 5}}', '{"queues": {"a": {"requests": "x"}}}'])
def test_a_scale_of_another_shape_is_said_to_be_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"scale\.json is of another shape .*make jobdir"):
        laboratory_tables(article(), "en", tmp_path)


def test_only_its_own_campaign_is_the_laboratory() -> None:
    assert has_laboratory(article())
    assert not has_laboratory([line("article", "article-INT", []) | {"campaign": "mixed"}])
    assert answer_table(Ledger([]), 1).rows[0][0] == "第二次 Ctrl-C?"
