"""The crawler reload_queue abused: odd files among its code, spiders that misbehave, a queue that refuses."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from crawler_run import DEADLINE_S, Answer, list_html, product_html, scripted_shop
from queue_run import Crawl, Server, all_gone, until

RELOAD = ("--reload", "--workers", "1", "--poll", "0.05", "--grace", "0.2")


def shop(second: Answer | None = None) -> dict[str, list[Answer]]:
    """A list of two products; `second` is what the second one answers."""
    pages = {"/product/1": [Answer(product_html(1))], "/product/2": [second or Answer(product_html(2))]}
    return {"/list/0": [Answer(list_html(1, 2))], **pages}


@pytest.mark.parametrize(
    ("refuse", "allow"),
    [
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    ],
    ids=["memory", "replica"],
)
def test_a_queue_that_refuses_to_write_is_waited_for(
    crawl: Crawl, server: Server, hold: threading.Event, refuse: tuple[str, ...], allow: tuple[str, ...]
) -> None:
    with (
        scripted_shop(shop(Answer(product_html(2), hold=hold))) as site,
        crawl.instance("n1", "--workers", "1", "--until-done", "--lease", "60") as running,
    ):
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        before = running.tree()
        server.client.execute_command(*refuse)
        hold.set()
        running.said("does not answer")
        server.client.execute_command(*allow)
        assert running.end() == 0
        assert "died" not in running.log()
        assert len(before) == 3
        assert crawl.counts(job) == (0, 3, 3, 0)
        assert site.seen["/product/2"] == 1


@pytest.mark.parametrize("name", ["spiders/.#shop.py", "spiders/.hidden.py", "spiders/a folder.py/x", "spiders/a b.py"])
def test_what_is_no_spider_is_in_nobodys_way(crawl: Crawl, name: str) -> None:
    odd = crawl.code / name
    odd.parent.mkdir(exist_ok=True)
    if "#" in name:
        odd.symlink_to("user@host.1:2")  # an editor's lock
    else:
        odd.write_text("this is no spider\n" if name.startswith("spiders/.") else "")
    with crawl.instance("n1", *RELOAD) as running:
        running.said("generation 1 runs")
        crawl.edit("REVISION = 0", "REVISION = 1")
        running.said("generation 2 runs")
    assert "known: shop\n" in crawl.manage("submit", "http://x/", "--spider", "a b", code=2)


@pytest.mark.parametrize(
    "line",
    ["import sys; sys.exit()", "import os; os._exit(0)"],
    ids=["exit", "_exit"],
)
def test_a_spider_that_ends_the_program_on_import_is_refused(crawl: Crawl, line: str) -> None:
    with crawl.instance("n1", *RELOAD) as running:
        running.said("generation 1 runs")
        crawl.spider.write_text(f"{crawl.spider.read_text()}{line}\n")
        running.said("reload refused: ")


def test_a_spider_that_says_much_on_import_is_taken(crawl: Crawl) -> None:
    with crawl.instance("n1", *RELOAD) as running:
        running.said("generation 1 runs")
        crawl.spider.write_text(crawl.spider.read_text() + "print('x' * 1000000)\n")
        running.said("change noticed")
        until(lambda: "refused" in running.log() or "generation 2 runs" in running.log(), "an end", running.log)
        assert "refused" not in running.log()


def test_a_check_that_is_killed_is_made_again(crawl: Crawl) -> None:
    with crawl.instance("n1", *RELOAD) as running:
        running.said("generation 1 runs")
        crawl.edit("REVISION = 0", "import time\ntime.sleep(0.5)\nREVISION = 1")
        checks = until(lambda: [one for one in running.tree() if "check_code" in " ".join(one.cmdline())], "a check")
        checks[0].kill()
        running.said("generation 2 runs")


def test_a_spider_that_ends_the_program_on_import_is_waited_for_at_the_start(crawl: Crawl) -> None:
    good = crawl.spider.read_text()
    crawl.spider.write_text(f"{good}import sys; sys.exit()\n")
    with crawl.instance("n1", *RELOAD) as running:
        running.said("cannot start: spiders/shop.py line 39: ImportError: it ends the program")
        crawl.spider.write_text(good)
        running.said(" runs, 1 workers")


def test_an_import_without_an_end_is_given_up_and_its_mend_is_run(crawl: Crawl) -> None:
    check = crawl.code / "crawling" / "code_check.py"
    check.write_text(check.read_text().replace("LONGEST_S = 30.0", "LONGEST_S = 4.0"))
    good = crawl.spider.read_text()
    crawl.spider.write_text(good + HANGS)
    with crawl.instance("n1", *RELOAD) as running:
        running.said("cannot start: importing the spiders takes longer than 4 s; waiting until it is mended")
        crawl.spider.write_text(good)
        running.said(" runs, 1 workers")


HANGS = "import threading\nthreading.Event().wait()\n"


def test_nobody_outlives_the_outer_main_while_the_code_is_imported(crawl: Crawl) -> None:
    crawl.spider.write_text(crawl.spider.read_text() + "open('here', 'w').close()\n" + HANGS)
    with crawl.instance("n1", *RELOAD) as running:
        until((crawl.store / "here").exists, "the import")
        below = running.tree()
        running.kill()
        all_gone(below)


@pytest.mark.parametrize(
    ("yields", "reason"),
    [
        ("Follow(None)", "TypeError"),
        ("Follow(page.url + '#', {'a': object()})", "TypeError"),
        ("Follow(page.url + '?\\ud800')", ""),
        ("Row('\\ud800', 't', 'p', 'c', 'a', 'u')", "UnicodeEncodeError"),
        ("Row([], 't', 'p', 'c', 'a', 'u')", "TypeError"),
        ("None; raise ValueError('\\ud800')", "ValueError"),
        ("None; raise ValueError('x' * 1000000)", "ValueError"),
        ("None; sys.modules[__name__].REVISION = 'new'", "ValueError"),
        ("None; sys.modules[__name__].REVISION = 2**70; yield Row('s', 't', 'p', 'c', 'a', 'u')", "OverflowError"),
    ],
)
def test_what_a_spider_must_not_yield_fails_its_page_with_a_reason(crawl: Crawl, yields: str, reason: str) -> None:
    crawl.edit("    tree =", f"    import sys\n    if page.url.endswith('/2'):\n        yield {yields}\n    tree =")
    with scripted_shop(shop()) as site, crawl.instance("n1", "--workers", "1", "--until-done") as running:
        job = crawl.submit(f"{site.url}/list/0")
        assert running.end() == 0
        assert "died" not in running.log()
        failures = crawl.status()["jobs"][0]["failures"]
        assert [why.partition(":")[0] for why in failures.values()] == ([reason] if reason else [])
        assert all(len(why) < 2000 for why in failures.values())
        assert crawl.counts(job)[0] == 0
        assert site.seen["/product/2"] == 1


def test_a_redirect_to_nowhere_fails_its_page(crawl: Crawl) -> None:
    wrong = Answer("", status=302, headers={"Location": "http://["})
    with scripted_shop(shop(wrong)) as site, crawl.instance("n1", "--workers", "1", "--until-done") as running:
        job = crawl.submit(f"{site.url}/list/0")
        assert running.end() == 0
        assert "died" not in running.log()
        assert crawl.counts(job) == (0, 3, 2, 1)


def test_a_log_that_cannot_be_written_stops_nobody(crawl: Crawl) -> None:
    (crawl.store / "n1-1.log").symlink_to("/dev/full")
    with scripted_shop(shop(Answer("", status=404))) as site:
        job = crawl.submit(f"{site.url}/list/0")
        with crawl.instance("n1", "--workers", "1", "--until-done") as running:
            assert running.process.wait(DEADLINE_S) == 0
        assert crawl.counts(job) == (0, 3, 2, 1)
        assert site.seen["/product/2"] == 1


def test_code_in_a_folder_that_is_a_link_runs_as_it_is_on_disk(crawl: Crawl, tmp_path: Path) -> None:
    (crawl.code / "spiders").rename(tmp_path / "elsewhere")
    (crawl.code / "spiders").symlink_to(tmp_path / "elsewhere")
    with crawl.instance("n1", *RELOAD) as running:
        running.said("generation 1 runs")
        assert not list((tmp_path / "elsewhere").rglob("*.pyc"))
        crawl.edit("REVISION = 0", "REVISION = 1")
        running.said("generation 2 runs")


def test_a_file_that_was_renamed_away_and_back_during_the_import_is_a_change(crawl: Crawl) -> None:
    crawl.edit("REVISION = 0", "open('good', 'w').close()\nREVISION = 0")
    kept = crawl.spider.with_suffix(".kept")
    other = crawl.spider.read_text().replace("'good'", "'other'").replace("REVISION = 0", "REVISION = 1")
    with crawl.instance("n1", *RELOAD) as running:
        until(running.tree, "the inner main")  # the outer one has looked at the code
        crawl.spider.rename(kept)
        crawl.spider.write_text(other)
        until((crawl.store / "other").exists, "the import of the other one")
        kept.rename(crawl.spider)
        running.said("generation 2 runs")


def test_a_process_that_forks_and_does_nothing_holds_no_reload_up(crawl: Crawl, hold: threading.Event) -> None:
    with (
        scripted_shop(shop(Answer(product_html(2), hold=hold))) as site,
        crawl.instance("n1", *RELOAD, "--until-done") as running,
    ):
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        _, forks, worker = running.tree()
        forks.suspend()
        crawl.edit("REVISION = 0", "REVISION = 1")
        all_gone([worker])
        hold.set()
        assert running.end() == 0
        forks.resume()
        all_gone([forks])
        assert crawl.counts(job) == (0, 3, 3, 0)
        assert crawl.rows("revision") == [(0,), (1,)]


def test_what_stands_behind_a_hash_makes_no_other_page(crawl: Crawl) -> None:
    crawl.edit("    tree =", "    yield Follow(page.url + '#top')\n    tree =")
    with scripted_shop(shop()) as site:
        job = crawl.submit(f"{site.url}/list/0")
        with crawl.instance("n1", "--workers", "1", "--until-done") as running:
            assert running.end() == 0, running.log()
        assert site.seen["/list/0"] == 1
    assert crawl.counts(job) == (0, 3, 3, 0)
