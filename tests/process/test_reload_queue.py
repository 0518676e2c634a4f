"""The crawler reload_queue through deaths, ends and outages: nothing is lost, nothing counted twice, nobody left."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable

import psutil
import pytest
from crawler_run import Answer, list_html, product_html, real_site, scripted_shop
from queue_run import Crawl, Instance, Server, alive, all_gone, until

JOBS = [f"shop-{n}" for n in range(1, 5)]
FAST = ("--lease", "1", "--grace", "0.2")


def shop(**special: list[Answer]) -> dict[str, list[Answer]]:
    """Three products; `special` gives answers of pages by their number, as p2."""
    pages = {f"/product/{n}": special.get(f"p{n}", [Answer(product_html(n))]) for n in (1, 2, 3)}
    return {"/list/0": [Answer(list_html(1, 2, 3))], **pages}


def held_once(number: int, hold: threading.Event) -> list[Answer]:
    """A product whose first request is held; whoever asks again is served."""
    return [Answer(product_html(number), hold=hold), Answer(product_html(number))]


def everything_is_there(crawl: Crawl, job: str) -> None:
    """The job is done, each product is stored once, and the recount agrees."""
    assert crawl.counts(job) == (0, 4, 4, 0)
    assert crawl.rows() == [(job, f"SKU-{n:05d}") for n in (1, 2, 3)]
    crawl.status()


def test_two_instances_store_four_equal_jobs_and_ask_for_no_page_too_often(crawl: Crawl) -> None:
    with real_site("--shape", "two_page") as site, crawl.instance("n1", "--workers", "3", "--until-done") as one:
        one.said("generation 1 runs")  # before there is a job: that is not the end
        assert crawl.manage("submit", f"{site.url}/list/0", "--count", "4").split() == JOBS
        with crawl.instance("n2", "--workers", "2", "--until-done") as two:
            assert (one.end(), two.end()) == (0, 0), one.log() + two.log()
        names = "sku, title, price, currency, availability"
        truth = sorted(tuple(row[name] for name in names.split(", ")) for row in site.truth())
        rows = crawl.rows(f"job, {names}")
        assert {job: [row[1:] for row in rows if row[0] == job] for job, *_ in rows} == dict.fromkeys(JOBS, truth)
        assert site.requests() == 4 * site.minimum
    status = crawl.status()
    assert [job["remaining"] for job in status["jobs"]] == [0] * 4
    assert {one["name"]: one["state"] for one in status["instances"]} == {"n1": "stopped", "n2": "stopped"}


def outer(instance: Instance) -> psutil.Process:
    return psutil.Process(instance.process.pid)


def inner(instance: Instance) -> psutil.Process:
    return instance.tree()[0]


def forker(instance: Instance) -> psutil.Process:
    return instance.tree()[1]


def worker(instance: Instance) -> psutil.Process:
    return instance.tree()[2]


@pytest.mark.parametrize("victim", [inner, forker, worker], ids=lambda who: who.__name__)
def test_a_death_in_the_middle_of_a_page_costs_one_more_request(
    crawl: Crawl, hold: threading.Event, victim: Callable[[Instance], psutil.Process]
) -> None:
    with scripted_shop(shop(p2=held_once(2, hold))) as site, crawl.instance("n1", "--workers", "1", *FAST) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        before = running.tree()
        victim(running).kill()
        until(crawl.done, "the end of the job", running.log)
        assert dict(site.seen) == {"/list/0": 1, "/product/1": 1, "/product/2": 2, "/product/3": 1}
        if victim is not worker:
            all_gone(before)
        assert f"died ({'SIGKILL' if victim is not forker else 'exit code 1'})" in running.log()
        everything_is_there(crawl, job)


def test_nobody_outlives_the_outer_main_and_the_next_one_waits_for_the_lease(
    crawl: Crawl, hold: threading.Event
) -> None:
    with scripted_shop(shop(p2=held_once(2, hold))) as site, crawl.instance("n1", "--workers", "2", *FAST) as first:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        below = first.tree()
        assert len(below) == 4  # the inner main, the one that forks, two workers
        first.kill()
        all_gone(below)
        with crawl.instance("n1", "--workers", "2", "--until-done", *FAST) as second:
            assert second.end() == 0
        everything_is_there(crawl, job)
        assert site.seen["/product/2"] == 2


def test_an_instance_that_never_comes_back_loses_its_tasks_to_another(crawl: Crawl, hold: threading.Event) -> None:
    with scripted_shop(shop(p2=held_once(2, hold))) as site, crawl.instance("gone", "--workers", "1", *FAST) as gone:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        with crawl.instance("heir", "--workers", "1", "--until-done", *FAST) as heir:
            heir.said("generation 1 runs")
            gone.kill()
            assert heir.end() == 0
            heir.said("took over 1 tasks of gone")
        everything_is_there(crawl, job)
        assert {one["name"]: one["state"] for one in crawl.status()["instances"]} == {"gone": "lost", "heir": "stopped"}


def test_a_second_main_of_one_name_waits_until_the_first_has_ended(crawl: Crawl, hold: threading.Event) -> None:
    held = [Answer(product_html(2), hold=hold)]
    with scripted_shop(shop(p2=held)) as site, crawl.instance("n1", "--workers", "1", "--lease", "60") as first:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        with crawl.instance("n1", "--workers", "1", "--until-done") as second:
            second.said("another main runs as n1")
            assert [task["url"] for task in crawl.status()["in_hand"]] == [f"{site.url}/product/2"]
            first.process.terminate()
            assert first.end() == 128 + signal.SIGTERM
            first.said("ended (SIGTERM); 1 tasks handed back")
            hold.set()
            assert second.end() == 0
        everything_is_there(crawl, job)


def test_an_orderly_stop_lets_the_page_finish_and_takes_no_other(crawl: Crawl, hold: threading.Event) -> None:
    held = [Answer(product_html(2), hold=hold)]
    with scripted_shop(shop(p2=held)) as site, crawl.instance("n1", "--workers", "1", "--grace", "60") as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        below = running.tree()
        running.process.send_signal(signal.SIGINT)
        running.said("stopping (SIGINT)")
        hold.set()
        assert running.end() == 128 + signal.SIGINT
        all_gone(below)
        running.said("0 cut")
        assert crawl.counts(job) == (1, 4, 3, 0)
        assert len(crawl.rows()) == 2
        assert dict(site.seen) == {"/list/0": 1, "/product/1": 1, "/product/2": 1}
        assert crawl.in_hand("n1") == {}
        assert crawl.status()["instances"][0]["state"] == "stopped"
        with crawl.instance("n2", "--workers", "1", "--until-done") as other:
            assert other.end() == 0
        everything_is_there(crawl, job)


def test_a_second_signal_is_meant_at_once(crawl: Crawl, hold: threading.Event) -> None:
    with scripted_shop(shop(p1=held_once(1, hold))) as site, crawl.instance("n1", "--grace", "60") as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/1")
        below = running.tree()

        def stopped_again() -> bool:
            running.process.send_signal(signal.SIGINT)
            return not alive(below[0])

        until(stopped_again, "the end of the inner main")
        assert running.end() == 128 + signal.SIGINT
        all_gone(below)
        assert crawl.counts(job)[0] > 0
        crawl.status()


def test_the_queue_dies_in_the_middle_and_nothing_is_lost(crawl: Crawl, server: Server, hold: threading.Event) -> None:
    held = [Answer(product_html(2), hold=hold)]
    options = ("--workers", "2", "--until-done", "--lease", "1")
    with scripted_shop(shop(p2=held)) as site, crawl.instance("n1", *options) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        server.kill()
        running.said("does not answer")
        hold.set()  # this page is fetched, and its result is kept until the queue is back
        server.start()
        assert running.end() == 0
        assert running.log().count("does not answer") == 1
        assert running.log().count("answers again") == 1
        everything_is_there(crawl, job)
        assert site.seen["/product/2"] == 1


def test_a_main_that_was_paused_longer_than_its_lease_costs_no_request(
    crawl: Crawl, server: Server, hold: threading.Event
) -> None:
    held = [Answer(product_html(2), hold=hold)]
    with scripted_shop(shop(p2=held)) as site, crawl.instance("n1", "--workers", "1", *FAST) as running:
        job = crawl.submit(f"{site.url}/list/0")
        site.wait_for("/product/2")
        inner(running).suspend()
        until(lambda: not server.client.exists("crawl:lease:n1"), "the end of the lease")
        asked = server.scripts_run()
        hold.set()
        until(lambda: server.scripts_run() > asked + 2, "the worker's asking again")  # nobody else asks now
        inner(running).resume()
        until(crawl.done, "the end of the job", running.log)
        running.said("the lease had run out; renewed")
        assert site.seen["/product/2"] == 1
        everything_is_there(crawl, job)


def test_an_instance_waits_for_a_queue_that_is_not_there_yet(crawl: Crawl, server: Server) -> None:
    with scripted_shop(shop()) as site:
        job = crawl.submit(f"{site.url}/list/0")
        server.kill()
        with crawl.instance("n1", "--until-done") as running:
            running.said(f"queue {server.url} does not answer")
            server.start()
            assert running.end() == 0
        everything_is_there(crawl, job)


RAISES = "    if page.url.endswith('/product/2'):\n        raise KeyError('price')\n    tree ="
DIES = "    import os\n    if page.url.endswith('/product/2'):\n        DEATH\n    tree ="


def test_a_spider_that_raises_fails_that_page_and_the_job_ends(crawl: Crawl) -> None:
    crawl.edit("    tree =", RAISES)
    with scripted_shop(shop()) as site:
        job = crawl.submit(f"{site.url}/list/0")
        with crawl.instance("n1", "--until-done") as running:
            assert running.end() == 0
        assert crawl.counts(job) == (0, 4, 3, 1)
        (reason,) = crawl.status()["jobs"][0]["failures"].values()
        assert reason.startswith("KeyError: 'price' (spiders/shop.py:")
        crawl.edit("raise KeyError('price')", "pass")
        assert crawl.manage("retry", job) == "1\n"
        with crawl.instance("n1", "--until-done") as running:
            assert running.end() == 0
        everything_is_there(crawl, job)


@pytest.mark.parametrize(
    ("death", "cause"), [("os.kill(os.getpid(), 9)", "SIGKILL"), ("os._exit(0)", "exit code 0")], ids=["kill", "exit"]
)
def test_a_page_that_kills_its_worker_is_given_up(crawl: Crawl, death: str, cause: str) -> None:
    crawl.edit("    tree =", DIES.replace("DEATH", death))
    with scripted_shop(shop()) as site, crawl.instance("n1", "--workers", "2", "--until-done") as running:
        job = crawl.submit(f"{site.url}/list/0")
        assert running.end() == 0
        assert crawl.status()["jobs"][0]["failures"] == {
            f"{site.url}/product/2": f"killed its worker 3 times (last: {cause})"
        }
        assert crawl.counts(job) == (0, 4, 3, 1)
        assert site.seen["/product/2"] == 3


def test_trouble_is_tried_again_and_a_page_that_is_gone_is_not(crawl: Crawl) -> None:
    busy = Answer("", status=429, headers={"Retry-After": "0"})
    pages = shop(p1=[Answer(status=503), busy, Answer(product_html(1))], p2=[Answer(status=404)])
    pages["/product/3"] = [Answer("", status=301, headers={"Location": "/product/33"})]
    pages["/product/33"] = [Answer(product_html(3))]
    with scripted_shop(pages) as site, crawl.instance("n1", "--until-done") as running:
        job = crawl.submit(f"{site.url}/list/0")
        assert running.end() == 0
        assert crawl.counts(job) == (0, 4, 3, 1)
        assert crawl.status()["jobs"][0]["failures"] == {f"{site.url}/product/2": "HTTP 404"}
        assert site.seen["/product/1"] == 3
        assert site.seen["/product/2"] == 1
        assert [sku for (sku,) in crawl.rows("sku")] == ["SKU-00001", "SKU-00003"]


def test_a_job_that_cannot_be_is_refused_in_one_line(crawl: Crawl, server: Server) -> None:
    assert "unknown spider 'nope'; known: shop" in crawl.manage("submit", "http://x/", "--spider", "nope", code=2)
    assert "is no URL of a page" in crawl.manage("submit", "x", code=2)
    assert "there is no job j" in crawl.manage("status", "j", code=2)
    assert server.client.dbsize() == 0
    assert crawl.manage("submit", "http://x/", "--id", "j") == "j\n"
    assert "job j exists already" in crawl.manage("submit", "http://x/", "--id", "j")
    assert [job["id"] for job in crawl.status()["jobs"]] == ["j"]
    server.kill()
    told = crawl.manage("submit", "http://x/", "--wait", "0.5", code=1)
    assert "did not answer within 0.5 s" in told
    assert "Traceback" not in told


def test_without_tables_nothing_is_crawled(crawl: Crawl) -> None:
    (crawl.store / "crawl.db").unlink()
    with crawl.instance() as running:
        assert running.end() == 2
        running.said("run `manage.py migrate` first")


def test_a_counter_that_disagrees_is_found(crawl: Crawl, server: Server) -> None:
    job = crawl.submit("http://x/")
    server.client.hincrby(f"crawl:job:{job}", "finished", 1)
    assert f"{job}: counter finished says 1, its tasks say 0" in crawl.manage("status", "--check", code=1)
    server.client.hincrby(f"crawl:job:{job}", "finished", -1)
    assert json.loads(crawl.manage("status", "--json", "--check")) == crawl.status()
    assert f"{job}: NR 1  NA 1  NF 0  NE 0  http://x/" in crawl.manage("status", job)
