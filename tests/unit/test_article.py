"""The article's table, complete and incomplete, in both languages."""

from __future__ import annotations

from killtest.report.article import article_groups, article_tables, article_trials, has_article
from killtest.report.published import TRIALS
from ledger_lines import control, failed, fault, trial, unknown


def test_our_figures_stand_next_to_the_published_ones() -> None:
    lines = [failed("naive", 2), trial("idempotent", 2)]
    table = article_tables(lines)[0]
    assert table.rows[1] == ("2", 600, 626, 500, 526, 1875, 1977, 500, 526)
    assert [row[5:] for row in table.rows] == [
        (t.naive_rows, t.naive_requests, t.idempotent_rows, t.idempotent_requests) for t in TRIALS
    ]


def test_the_chinese_headings_are_the_articles() -> None:
    table = article_tables([trial()], "zh")[0]
    assert table.headings[:5] == (
        "运行次数",
        "朴素爬虫:存储行数",
        "朴素爬虫:请求数",
        "幂等爬虫:存储行数",
        "幂等爬虫:请求数",
    )


def test_trials_that_have_not_run_are_rows_that_say_missing() -> None:
    figures, ratios = article_tables([trial("idempotent", 1)])
    assert figures.rows[0][1:5] == ("missing", "missing", 500, 526)
    assert [row[1:5] for row in figures.rows[1:]] == [("missing",) * 4] * 4
    assert ratios.rows[1][1:] == ("missing",) * 9
    assert ratios.rows[5][1:4] == ("no data", "no data", "1.000")
    assert article_tables([], "zh")[0].rows[4][1:5] == ("缺失",) * 4


def test_an_unknown_trial_says_so_and_enters_no_range() -> None:
    with_rows = trial("naive", 1, outcome="UNKNOWN", data={"rows": 9999})
    figures, ratios = article_tables([with_rows, failed("naive", 2), unknown("idempotent", 1)])
    assert figures.rows[0][1:5] == ("UNKNOWN",) * 4
    assert ratios.rows[0][1] == "UNKNOWN"
    assert ratios.rows[5][1] == "1.200"


def test_a_store_that_can_not_be_read_says_so() -> None:
    line = failed("naive", 1, ending="unreadable_store", data={"rows": None, "rows_after": [3, None]})
    figures, ratios = article_tables([line])
    assert figures.rows[0][1:3] == ("unreadable", 626)
    assert ratios.rows[0][1] == "unreadable"


def test_ratios_kills_and_rows_of_killed_incarnations() -> None:
    planned = ["after:0.5 KILL", "after:0.6 KILL"]
    line = failed(
        "naive",
        1,
        data={"rows_after": [100, 600]},
        schedule={"faults": planned},
        faults=[fault(), fault("not_reached")],
    )
    table = article_tables([line, trial("idempotent", 1)])[1]
    assert table.rows[0] == (
        "1", "1.200", "1.192", "1.000", "1.002", "1/2", "1/1", "100", "3.2", "3.2",
    )  # fmt: skip
    assert table.rows[-1] == (
        "published, min–max", "2.572–4.330", "2.592–4.349", "1.000", "1.000–1.006", "10", "10",
        "not published", "9.2–10.8", "6.8–8.3",
    )  # fmt: skip


def test_ratios_are_taken_from_the_site_that_was_served() -> None:
    line = trial("naive", 1, data={"rows": 60, "products": 30}, traffic={"requests": 99, "minimum": 33})
    assert article_tables([line])[1].rows[0][1:3] == ("2.000", "3.000")


def test_more_trials_than_published_are_shown() -> None:
    table = article_tables([trial("naive", 6)])[0]
    assert table.rows[5] == ("6", 500, 526, "missing", "missing", *["not published"] * 4)


def test_a_table_for_the_articles_own_clock_and_only_for_kills() -> None:
    first = {"faults": ["first+0.5 KILL"]}
    lines = [
        trial("naive", 1, "first-KILL", schedule=first),
        trial("naive", 1, "start-KILL"),
        trial("naive", 1, "reload", schedule={"faults": ["request:3 reload"]}),
        trial("naive", 1, "lease", variant="short_lease"),
        control("naive"),
    ]
    assert article_groups(lines) == ["start-KILL"]
    assert not has_article([trial(s, 1, campaign="mine", schedule=first) for s in ("naive", "idempotent")])


def test_trials_without_numbers_are_numbered_alike_for_both_subjects() -> None:
    lines = []
    for subject in ("naive", "idempotent"):
        lines += [trial(subject, schedule={"name": name}) | {"id": f"{subject}--{name}"} for name in "ba"]
    trials = article_trials(lines[:3], "start-KILL")
    assert {number: line["schedule"]["name"] for number, line in trials["naive"].items()} == {1: "a", 2: "b"}
    assert {number: line["schedule"]["name"] for number, line in trials["idempotent"].items()} == {2: "b"}


def test_the_article_is_reported_where_it_was_repeated() -> None:
    both = [trial("naive", campaign="mine"), trial("idempotent", campaign="mine")]
    small = [trial(s, campaign="mine", data={"products": 30}) for s in ("naive", "idempotent")]
    assert has_article([trial("naive")])
    assert has_article(both)
    assert not has_article(both[:1])
    assert not has_article(small)
    assert not has_article([])


def test_a_plan_of_fewer_trials_than_published_leaves_the_others_out() -> None:
    plan = {("naive", "start-KILL"): ["start-KILL-1", "start-KILL-2"]}
    table = article_tables([trial("naive", 1)], plan=plan)[0]
    assert [row[:2] for row in table.rows] == [("1", 500), ("2", "missing")]
