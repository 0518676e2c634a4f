"""The frontier that a reader may lift out of crawlers/idempotent: its promises, on a clock of ours."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "crawlers" / "idempotent" / "frontier.py"


def load() -> ModuleType:
    """The module by its path: the crawlers are no package and not on the import path."""
    spec = importlib.util.spec_from_file_location("idempotent_frontier", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


frontier_module = load()


class Clock:
    """Seconds since some epoch; moves only when told to."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_frontier(tmp_path: Path, clock: Clock) -> Callable[..., Any]:
    """Opens another frontier on the same file, as another process or a restart would."""

    def open_one(**settings: float) -> Any:
        db = frontier_module.connect(str(tmp_path / "crawl.db"))
        db.execute("CREATE TABLE IF NOT EXISTS results (url TEXT)")
        return frontier_module.Frontier(db, settings.pop("lease_s", 3.0), clock=clock, **settings)

    return open_one


def rows(frontier: Any) -> list[Any]:
    found: list[Any] = frontier.db.execute("SELECT * FROM frontier ORDER BY seq").fetchall()
    return found


def save(url: str) -> Callable[[sqlite3.Connection], object]:
    return lambda db: db.execute("INSERT INTO results VALUES (?)", (url,))


def results(frontier: Any) -> list[str]:
    return [url for (url,) in frontier.db.execute("SELECT url FROM results")]


def test_urls_are_leased_in_the_order_in_which_they_were_added(open_frontier: Any) -> None:
    frontier = open_frontier()
    frontier.add(["/a", "/b", "/c"])
    assert [frontier.lease().url for _ in range(3)] == ["/a", "/b", "/c"]
    assert frontier.lease() is None


def test_adding_a_known_url_changes_nothing_in_any_state(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier()
    frontier.add(["/done", "/failed", "/leased", "/retried", "/pending"])
    frontier.complete(frontier.lease(), [], lambda db: None)
    frontier.fail(frontier.lease(), "gone")
    frontier.lease()
    frontier.retry(frontier.lease(), "later")
    before = rows(frontier)
    assert {row[2] for row in before} == {"done", "failed", "leased", "pending"}
    clock.pass_s(1)
    frontier.add(["/pending", "/leased", "/done", "/retried", "/failed"])
    assert rows(frontier) == before


def test_a_restart_finds_everything_as_it_was(open_frontier: Any) -> None:
    first = open_frontier()
    first.add(["/a", "/b"])
    first.complete(first.lease(), ["/c"], save("/a"))
    again = open_frontier()
    assert rows(again) == rows(first)
    assert again.counts() == {"done": 1, "pending": 2}


def test_a_leased_url_comes_back_when_the_lease_has_run_out_and_not_before(open_frontier: Any, clock: Clock) -> None:
    died, other = open_frontier(), open_frontier()
    died.add(["/a"])
    first = died.lease()
    clock.pass_s(2.9)
    assert other.lease() is None
    assert other.wait_s() == pytest.approx(0.1)
    clock.pass_s(0.1)
    assert other.wait_s() == 0
    second = other.lease()
    assert (second.url, second.number) == ("/a", first.number + 1)


def test_an_expired_lease_that_nobody_took_is_still_good(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    lease = frontier.lease()
    clock.pass_s(60)
    frontier.complete(lease, [], save("/a"))
    assert (results(frontier), frontier.wait_s()) == (["/a"], None)


@pytest.mark.parametrize("end", ["complete", "retry", "fail"])
def test_whoever_lost_the_lease_can_change_nothing(open_frontier: Any, clock: Clock, end: str) -> None:
    slow, other = open_frontier(), open_frontier()
    slow.add(["/a"])
    lost = slow.lease()
    clock.pass_s(3)
    held = other.lease()
    before = rows(other)
    arguments = (["/from-the-slow-one"], save("/a")) if end == "complete" else ("a reason",)
    with pytest.raises(frontier_module.LeaseLost, match="/a: lease 1 is no longer the latest"):
        getattr(slow, end)(lost, *arguments)
    assert (rows(other), results(other)) == (before, [])
    other.complete(held, [], save("/a"))
    assert results(other) == ["/a"]
    with pytest.raises(frontier_module.LeaseLost):
        slow.complete(lost, [], save("/a"))


def test_a_lease_is_good_for_one_outcome(open_frontier: Any) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    lease = frontier.lease()
    frontier.retry(lease, "HTTP 503")
    before = rows(frontier)
    with pytest.raises(frontier_module.LeaseLost):
        frontier.complete(lease, [], save("/a"))
    assert (rows(frontier), results(frontier)) == (before, [])


def test_result_links_and_progress_are_stored_together(open_frontier: Any) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    frontier.complete(frontier.lease(), ["/b", "/a"], save("/a"))
    seen_by_others = open_frontier()
    assert results(seen_by_others) == ["/a"]
    assert seen_by_others.counts() == {"done": 1, "pending": 1}


def test_an_error_in_the_middle_leaves_neither_result_nor_progress(open_frontier: Any) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    lease = frontier.lease()
    before = rows(frontier)

    def stores_and_breaks(db: sqlite3.Connection) -> None:
        save("/a")(db)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        frontier.complete(lease, ["/b"], stores_and_breaks)
    assert (rows(frontier), results(frontier)) == (before, [])
    frontier.complete(lease, ["/b"], save("/a"))
    assert results(frontier) == ["/a"]


def test_the_work_is_over_only_when_no_lease_is_out(open_frontier: Any) -> None:
    frontier = open_frontier()
    assert frontier.wait_s() is None
    frontier.add(["/a"])
    assert frontier.wait_s() == 0
    lease = frontier.lease()
    assert frontier.lease() is None
    assert frontier.wait_s() == 3
    frontier.complete(lease, ["/found-at-last"], save("/a"))
    assert frontier.wait_s() == 0
    frontier.fail(frontier.lease(), "gone")
    assert frontier.wait_s() is None


def test_the_delay_before_a_retry_doubles_up_to_the_longest(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier(retry_s=0.5, max_delay_s=3, max_attempts=6)
    frontier.add(["/a"])
    delays = []
    for _ in range(5):
        assert frontier.retry(frontier.lease(), "HTTP 503")
        delays.append(frontier.wait_s())
        assert frontier.lease() is None
        clock.pass_s(delays[-1])
    assert delays == pytest.approx([0.5, 1, 2, 3, 3])


@pytest.mark.parametrize(("asked_s", "waits_s"), [(0, 0.5), (7, 7), (86400, 60)])
def test_the_server_may_ask_for_a_longer_delay_within_limits(
    open_frontier: Any, asked_s: float, waits_s: float
) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    frontier.retry(frontier.lease(), "HTTP 429", asked_s)
    assert frontier.wait_s() == pytest.approx(waits_s)


def test_a_url_fails_with_its_reason_after_the_last_attempt(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier(max_attempts=3)
    frontier.add(["/a"])
    for expected in (True, True, False):
        assert frontier.retry(frontier.lease(), "HTTP 500") is expected
        clock.pass_s(60)
    assert frontier.failures() == [("/a", "HTTP 500 (attempt 3, the last)")]
    assert (frontier.lease(), frontier.wait_s()) == (None, None)


def test_a_lease_that_ran_out_is_no_failed_attempt(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier(max_attempts=2)
    frontier.add(["/a"])
    for _ in range(10):  # ten kills in the same place must not cost the page
        frontier.lease()
        clock.pass_s(3)
    assert frontier.retry(frontier.lease(), "HTTP 500") is True


def test_a_clock_set_back_by_an_hour_stops_nothing(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier()
    frontier.add(["/leased", "/pending"])
    frontier.lease()
    clock.pass_s(-3600)
    assert [frontier.lease().url, frontier.lease().url] == ["/pending", "/leased"]


@pytest.mark.parametrize("count", [1, 10_000])
@pytest.mark.parametrize("sql", ["LEASE_SQL", "NEXT_DUE_SQL"])
def test_the_next_url_is_found_by_index(open_frontier: Any, sql: str, count: int) -> None:
    frontier = open_frontier()
    frontier.add(f"/{number}" for number in range(count))
    values = {"until": 1.0, "low": 0.0, "high": 1.0} if sql == "LEASE_SQL" else {}
    for analysed in (False, True):
        if analysed:
            frontier.db.execute("ANALYZE")
        plan = frontier.db.execute(f"EXPLAIN QUERY PLAN {getattr(frontier_module, sql)}", values).fetchall()
        steps = [step for *_, step in plan]
        assert any("INDEX frontier_due" in step for step in steps), steps
        assert not [step for step in steps if "SCAN" in step or "TEMP B-TREE" in step], steps


def effort(frontier: Any) -> int:
    """Instructions of SQLite's virtual machine that one lease takes."""
    done = 0

    def count() -> int:
        nonlocal done
        done += 1
        return 0

    frontier.db.set_progress_handler(count, 1)
    frontier.lease()
    frontier.db.set_progress_handler(None, 0)
    return done


def test_a_lease_costs_the_same_with_one_and_with_ten_thousand_urls(open_frontier: Any, clock: Clock) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    with_one = effort(frontier)
    frontier.add(f"/done/{number}" for number in range(5_000))
    frontier.db.execute("UPDATE frontier SET state = 'done', due_at = NULL WHERE seq > 1")
    frontier.add(f"/{number}" for number in range(5_000))
    assert 0 < effort(frontier) < with_one + 20


def fill_up(frontier: Any) -> None:
    """From now on the database may not grow by a single page."""
    (pages,) = frontier.db.execute("PRAGMA page_count").fetchone()
    frontier.db.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_named_and_undoes_the_transaction(open_frontier: Any) -> None:
    frontier = open_frontier()
    frontier.add(["/a"])
    lease = frontier.lease()
    before = rows(frontier)
    fill_up(frontier)
    with pytest.raises(sqlite3.OperationalError, match="database or disk is full") as caught:
        frontier.complete(lease, [], save("/a" * 10_000))
    assert caught.value.sqlite_errorname == "SQLITE_FULL"
    assert not frontier.db.in_transaction
    assert (rows(frontier), results(frontier)) == (before, [])
    frontier.db.execute("PRAGMA max_page_count = 1000000")
    frontier.complete(lease, [], save("/a"))
    assert (results(frontier), frontier.wait_s()) == (["/a"], None)


def test_a_rollback_that_fails_does_not_hide_the_cause() -> None:
    class Broken:
        in_transaction = True

        def execute(self, sql: str) -> None:
            if sql != "BEGIN IMMEDIATE":
                raise sqlite3.OperationalError({"COMMIT": "disk I/O error"}.get(sql, "cannot rollback"))

    with (
        pytest.raises(sqlite3.OperationalError, match="disk I/O error"),
        frontier_module.transaction(Broken()),
    ):
        pass


def test_a_commit_outlives_a_power_cut_and_readers_never_wait(open_frontier: Any) -> None:
    db = open_frontier().db
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_the_loop_that_the_readme_shows_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code, _ = re.split(r"```(?:python)?\n", PATH.with_name("README.md").read_text(encoding="utf-8"))
    site = {"https://example.org/": ("Home", ["https://example.org/a"]), "https://example.org/a": ("A", [])}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "frontier", frontier_module)
    names: dict[str, Any] = {"fetch_and_parse": site.__getitem__}
    exec(code, names)
    found = names["db"].execute("SELECT url, title FROM titles").fetchall()
    assert found == [("https://example.org/", "Home"), ("https://example.org/a", "A")]
