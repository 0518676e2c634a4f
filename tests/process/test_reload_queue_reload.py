"""The crawler reload_queue while its code changes: every change is taken up, no broken one is, and nothing is lost."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

from crawler_run import Answer, list_html, product_html, real_site, scripted_shop
from queue_run import Crawl, Instance, Server, all_gone, until

JOBS = [f"shop-{n}" for n in range(1, 5)]
RELOAD = ("--reload", "--workers", "1", "--poll", "0.05", "--grace", "0.2")
PATIENT = ("--reload", "--workers", "1", "--poll", "0.05", "--grace", "60")


def shop(second: list[Answer]) -> dict[str, list[Answer]]:
    """Three products; `second` is what the second one answers."""
    answers = {1: [Answer(product_html(1))], 2: second, 3: [Answer(product_html(3))]}
    pages = {f"/product/{n}": answer for n, answer in answers.items()}
    return {"/list/0": [Answer(list_html(1, 2, 3))], **pages}


def revisions(crawl: Crawl) -> list[int]:
    """Which code made the rows of the three products."""
    return [revision for (revision,) in crawl.rows("revision")]


def line_of(crawl: Crawl, text: str) -> int:
    """The number of the spider's first line that begins so."""
    return next(n for n, line in enumerate(crawl.spider.read_text().splitlines(), 1) if line.startswith(text))


def idle(crawl: Crawl, running: Instance, generation: int) -> None:
    """Wait until a generation runs, and its registration says so."""
    running.said(f"generation {generation} runs")
    found = registered(crawl)
    assert (found["generation"], found["state"], found["folder"]) == (generation, "running", str(crawl.code))


def registered(crawl: Crawl) -> dict[str, Any]:
    """What n1 says about itself in the queue."""
    told: dict[str, Any] = json.loads(crawl.server.client.hget("crawl:instances", "n1"))
    return told


def test_a_page_that_outlives_the_grace_is_cut_and_done_by_the_new_code(crawl: Crawl, hold: threading.Event) -> None:
    second = [Answer(product_html(2), hold=hold), Answer(product_html(2))]
    with scripted_shop(shop(second)) as site, crawl.instance("n1", *RELOAD) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        old = running.tree()
        crawl.edit("REVISION = 0", "REVISION = 1")
        until(crawl.done, "the end of the job", running.log)
        all_gone(old)
        running.said("change noticed: spiders/shop.py")
        running.said("old workers ended (0 finished, 1 cut)")
        assert revisions(crawl) == [0, 1, 1]
        assert dict(site.seen) == {"/list/0": 1, "/product/1": 1, "/product/2": 2, "/product/3": 1}
        assert crawl.counts(job) == (0, 4, 4, 0)
        assert crawl.status()["instances"][0]["reloads"] == 1


def test_a_page_that_ends_within_the_grace_is_asked_for_once_and_nothing_new_is(
    crawl: Crawl, hold: threading.Event
) -> None:
    with scripted_shop(shop([Answer(product_html(2), hold=hold)])) as site, crawl.instance("n1", *PATIENT) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        crawl.edit("REVISION = 0", "REVISION = 1")
        running.said("stopping (reload)")
        hold.set()
        until(crawl.done, "the end of the job", running.log)
        running.said("old workers ended (1 finished, 0 cut)")
        assert revisions(crawl) == [0, 0, 1]
        assert dict(site.seen) == {"/list/0": 1, "/product/1": 1, "/product/2": 1, "/product/3": 1}
        assert crawl.counts(job) == (0, 4, 4, 0)
        crawl.status()


def test_broken_code_is_refused_while_the_old_goes_on_until_it_is_mended(crawl: Crawl, hold: threading.Event) -> None:
    with scripted_shop(shop([Answer(product_html(2), hold=hold)])) as site, crawl.instance("n1", *PATIENT) as running:
        crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        crawl.edit("REVISION = 0", "REVISION = 1\ndef broken(:")
        line = line_of(crawl, "def broken")
        running.said(f"reload refused: spiders/shop.py line {line}: SyntaxError: invalid syntax")
        crawl.edit("def broken(:", "import nowhere_to_be_found")
        running.said(f"reload refused: spiders/shop.py line {line}: ModuleNotFoundError: No module named 'nowhere_to")
        crawl.edit("import nowhere_to_be_found", "parse = None")
        hold.set()
        until(crawl.done, "the end of the job", running.log)
        assert revisions(crawl) == [0, 0, 0]  # the old code went on meanwhile
        crawl.edit("parse = None\n", "")
        idle(crawl, running, 2)
        crawl.submit(f"{site.url}/list/0", "a")  # before shop-1 in alphabetical order
        until(crawl.done, "the end of the second job", running.log)
        assert revisions(crawl) == [1, 1, 1, 0, 0, 0]


def test_code_that_is_broken_at_the_start_is_waited_for(crawl: Crawl) -> None:
    crawl.edit("REVISION = 0", "REVISION = = 0")
    with crawl.instance("n1", *RELOAD) as running:
        line = line_of(crawl, "REVISION")
        running.said(f"cannot start: spiders/shop.py line {line}: SyntaxError: invalid syntax; waiting until")
        crawl.edit("REVISION = = 0", "REVISION = 0")
        running.said("runs, 1 workers")
    models = crawl.code / "crawling" / "models.py"
    models.write_text(f"{models.read_text()}import nowhere\n")
    line = models.read_text().count("\n")
    with crawl.instance("n2") as running:
        assert running.end() == 1
        running.said(f"cannot start: crawling/models.py line {line}: ModuleNotFoundError: No module named 'nowhere'")


def test_an_edit_while_the_code_is_first_imported_is_noticed_and_run(crawl: Crawl, hold: threading.Event) -> None:
    """It has the size, the second and even the time of what was imported: neither stat nor bytecode tells it apart."""
    text = crawl.spider.read_text()
    crawl.spider.write_text(
        text.replace("REVISION = 0", "REVISION = 0\nimport os, pathlib, sys\nme = pathlib.Path(__file__)\n")
        + "\nif REVISION == 0 and 'crawl' in sys.argv:\n"
        "    was = me.stat()\n"
        "    me.write_text(me.read_text().replace('REVISION = 0\\n', 'REVISION = 1\\n'))\n"
        "    os.utime(me, ns=(was.st_atime_ns, was.st_mtime_ns))\n"
    )
    with scripted_shop(shop([Answer(product_html(2))])) as site, crawl.instance("n1", *RELOAD) as running:
        idle(crawl, running, 2)
        crawl.submit(f"{site.url}/list/0")
        until(crawl.done, "the end of the job", running.log)
        assert revisions(crawl) == [1, 1, 1]


def test_a_touch_a_blank_a_new_file_and_a_file_that_is_gone_are_changes(crawl: Crawl) -> None:
    with crawl.instance("n1", *RELOAD) as running:
        idle(crawl, running, 1)
        digests = [registered(crawl)["digest"]]
        os.utime(crawl.spider)
        idle(crawl, running, 2)
        new = crawl.code / "spiders" / "extra.py"
        new.write_text("def parse(page):\n    return []\n")
        idle(crawl, running, 3)
        digests.append(registered(crawl)["digest"])
        new.write_text(new.read_text() + "\n")
        idle(crawl, running, 4)
        digests.append(registered(crawl)["digest"])
        new.unlink()
        idle(crawl, running, 5)
        digests.append(registered(crawl)["digest"])
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3


def test_a_change_of_the_framework_is_taken_up_as_well(crawl: Crawl) -> None:
    with crawl.instance("n1", *RELOAD) as running:
        idle(crawl, running, 1)
        module = crawl.code / "crawling" / "instance.py"
        module.write_text(module.read_text().replace("workers, digest", "fresh workers, digest"))
        running.said("generation 2 runs, 1 fresh workers")


def test_a_change_during_the_outage_of_the_queue_loses_nothing(crawl: Crawl, server: Server) -> None:
    hold = threading.Event()
    with scripted_shop(shop([Answer(product_html(2), hold=hold)])) as site, crawl.instance("n1", *RELOAD) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        server.kill()
        crawl.edit("REVISION = 0", "REVISION = 1")
        running.said("old workers ended")
        hold.set()
        server.start()
        until(crawl.done, "the end of the job", running.log)
        assert revisions(crawl) == [0, 1, 1]
        assert crawl.counts(job) == (0, 4, 4, 0)


def test_four_jobs_stay_equal_while_one_of_two_instances_reloads_again_and_again(crawl: Crawl) -> None:
    words = ("--workers", "3", "--until-done", "--poll", "0.05", "--grace", "0.05")
    site_words = ("--shape", "two_page", "--latency-ms", "100")
    with (
        real_site(*site_words) as site,
        crawl.instance("n1", "--reload", *words) as one,
        crawl.instance("n2", *words) as two,
    ):
        assert crawl.manage("submit", f"{site.url}/list/0", "--count", "4").split() == JOBS
        reloads = 0
        while one.process.poll() is None and reloads < 8:
            reloads += 1
            before = site.requests()
            crawl.spider.touch()
            until(
                lambda n=reloads + 1: f"generation {n} runs" in one.log() or not alive_outer(one), "a reload", one.log
            )
            until(lambda n=before: site.requests() > n + 3 or not alive_outer(one), "progress", two.log)
        assert (one.end(), two.end()) == (0, 0), one.log() + two.log()
        assert reloads > 2
        names = "sku, title, price, currency, availability"
        truth = sorted(tuple(row[name] for name in names.split(", ")) for row in site.truth())
        rows = crawl.rows(f"job, {names}")
        assert {job: [row[1:] for row in rows if row[0] == job] for job, *_ in rows} == dict.fromkeys(JOBS, truth)
        cut = sum(int(line.split(", ")[-1].split()[0]) for line in one.log().splitlines() if " cut)" in line)
        assert site.requests() <= 4 * site.minimum + cut
    assert [job["remaining"] for job in crawl.status()["jobs"]] == [0] * 4


def alive_outer(instance: Instance) -> bool:
    """Whether the outer main still runs."""
    return instance.process.poll() is None
