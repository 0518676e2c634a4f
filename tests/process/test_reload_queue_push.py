"""`push --rolling` of the crawler reload_queue: instances with code folders of their own, one after another."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from crawler_run import real_site
from queue_run import DEADLINE_S, Crawl, Instance, Server, until

RELOAD = ("--reload", "--workers", "1", "--poll", "0.05", "--grace", "0.2")
DEAF = ("--workers", "1")  # runs the code that it was started with


@pytest.fixture
def nodes(tmp_path: Path, server: Server) -> list[Crawl]:
    """Two copies of the code, with data of their own and one queue."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return [Crawl(tmp_path / name, server) for name in ("one", "two")]


@pytest.fixture
def change(tmp_path: Path, nodes: list[Crawl]) -> Path:
    """A spider whose revision is 7."""
    path = tmp_path / "shop.py"
    path.write_text(nodes[0].spider.read_text().replace("REVISION = 0", "REVISION = 7"))
    return path


def push(crawl: Crawl, change: Path, *words: str, code: int = 0) -> str:
    """Push, which must end with `code`; what it said on both streams. Two reloads on a busy machine take long."""
    command = [sys.executable, str(crawl.code / "manage.py"), "push", str(change), "--rolling", *words]
    done = subprocess.run(
        command, cwd=crawl.store, env=crawl.environment, check=False, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def has_run(running: Instance, generation: int) -> None:
    running.said(f"generation {generation} runs")


def when(running: Instance, text: str) -> float:
    """CLOCK_MONOTONIC of the first line that has the text."""
    return next(float(line[1:].partition("]")[0]) for line in running.log().splitlines() if text in line)


def states(crawl: Crawl) -> dict[str, str]:
    return {one["name"]: one["state"] for one in crawl.status()["instances"]}


def leftovers(crawl: Crawl) -> list[Path]:
    return list(crawl.code.rglob("*.pushed"))


def test_each_instance_takes_the_change_before_the_next_one_gets_it(nodes: list[Crawl], change: Path) -> None:
    one, two = nodes
    two.spider.chmod(0o640)
    with one.instance("n1", *RELOAD) as first, two.instance("n2", *RELOAD) as second:
        has_run(first, 1)
        has_run(second, 1)
        said = push(one, change)
        line = r"{}: 1 file, digest (\w{{12}}) → (\w{{12}}), runs after \d+\.\d s\n"
        found = re.fullmatch(line.format("n1") + line.format("n2"), said)
        assert found, said
        has_run(first, 2)
        has_run(second, 2)
        digests = {running["digest"][:12] for running in one.status()["instances"]}
        assert digests == {found[2]} == {found[4]}
        assert when(first, "generation 2 runs") <= when(second, "change noticed")
        with real_site() as site:
            one.submit(f"{site.url}/list/0")
            until(one.done, "the end of the job")
        assert {row for crawl in nodes for row in crawl.rows("revision")} == {(7,)}
        assert two.spider.stat().st_mode & 0o777 == 0o640
        again = push(one, change)
        assert again == "".join(f"{name}: 0 files, digest {found[2]} as before\n" for name in ("n1", "n2"))
    assert leftovers(one) + leftovers(two) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("def broken(:", "refused: spiders/shop.py line 12: SyntaxError: invalid syntax"),
        ("import nowhere", "refused: spiders/shop.py line 12: ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_broken_code_goes_back_where_it_was_refused_and_gets_no_further(
    nodes: list[Crawl], tmp_path: Path, wrong: str, reason: str
) -> None:
    one, two = nodes
    before = one.spider.read_bytes()
    folder = tmp_path / "change"
    (folder / "spiders" / "more").mkdir(parents=True)
    (folder / "spiders" / "shop.py").write_text(before.decode().replace("REVISION = 0", f"REVISION = 7\n{wrong}"))
    (folder / "spiders" / "more" / "new.py").write_text("")
    with one.instance("n1", *RELOAD) as first, two.instance("n2", *RELOAD) as second:
        has_run(first, 1)
        has_run(second, 1)
        digest = one.status()["instances"][0]["digest"]
        said = push(one, folder, code=1)
        assert f"n1: 2 files, {reason}; the old files are back\n" in said
        assert "not finished; with the change: none; without: n1, n2" in said
        for crawl in nodes:
            assert crawl.spider.read_bytes() == before
            assert not (crawl.code / "spiders" / "more").exists()
        has_run(first, 2)  # the old files are a change as well
        assert {running["digest"] for running in one.status()["instances"]} == {digest}
        assert "change noticed" not in second.log()
    assert leftovers(one) + leftovers(two) == []


def test_an_instance_that_does_not_take_it_in_time_gets_its_old_files_back(nodes: list[Crawl], change: Path) -> None:
    one, two = nodes
    before = one.spider.read_bytes()
    with one.instance("n1", *DEAF) as first, two.instance("n2", *RELOAD) as second:
        has_run(first, 1)
        has_run(second, 1)
        said = push(one, change, "--timeout", "0.5", code=1)
        assert re.search(
            r"n1: 1 file, n1 still runs \w{12} after 0\.5 s \(was it started with --reload\?\); the old", said
        )
        assert one.spider.read_bytes() == two.spider.read_bytes() == before
        assert "change noticed" not in second.log()


def test_instances_that_share_a_folder_get_it_once(nodes: list[Crawl], change: Path) -> None:
    one, _ = nodes
    with one.instance("n1", *RELOAD) as first, one.instance("n2", *RELOAD) as second:
        has_run(first, 1)
        has_run(second, 1)
        said = push(one, change)
        assert [line.partition(", runs")[0][:10] for line in said.splitlines()] == ["n1: 1 file", "n2: 1 file"]
        has_run(first, 2)
        has_run(second, 2)
        assert (first.log() + second.log()).count("change noticed") == 2
        assert one.spider.read_text() == change.read_text()


def test_an_instance_that_lapsed_is_named_and_the_others_get_it(nodes: list[Crawl], change: Path) -> None:
    one, two = nodes
    with one.instance("n1", *RELOAD, "--lease", "0.5") as first, two.instance("n2", *RELOAD) as second:
        has_run(first, 1)
        has_run(second, 1)
        first.kill()
        until(lambda: states(one)["n1"] == "lost", "the end of the lease")
        said = push(one, change, code=1)
        assert re.search(r"n1: skipped, its lease ran out: not heard of for \d+ s\n", said)
        assert "without the change, since they did not answer: n1" in said
        has_run(second, 2)
        assert "REVISION = 0" in one.spider.read_text()


def interrupted(crawl: Crawl, change: Path, at: Callable[[], object]) -> tuple[str, str]:
    """Push, and press Ctrl-C once `at` is true; what was said on both streams."""
    command = [sys.executable, str(crawl.code / "manage.py"), "push", str(change), "--rolling", "--timeout", "600"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=crawl.store, env=crawl.environment, text=True, **pipes) as running:
        try:
            until(at, "the moment to interrupt the push")
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
    assert running.returncode == 130, (out, err)
    return out, err


def test_interrupted_it_says_who_has_the_change(nodes: list[Crawl], change: Path) -> None:
    one, two = nodes
    with one.instance("n1", *RELOAD) as first, two.instance("n2", *DEAF) as second:
        has_run(first, 1)
        has_run(second, 1)
        out, err = interrupted(one, change, lambda: two.spider.read_text() == change.read_text())
        assert out.endswith("n2: 1 file, interrupted; the old files are back\n"), (out, err)
        assert "not finished; with the change: n1; without: n2" in err
        assert one.spider.read_text() == change.read_text()
        assert "REVISION = 0" in two.spider.read_text()


def test_code_that_dies_at_work_can_be_taken_back_and_the_old_one_works_again(nodes: list[Crawl], change: Path) -> None:
    one, _ = nodes
    change.write_text(f"{change.read_text()}\nimport sys\nif 'crawl' in sys.argv:\n    raise SystemExit('not here')\n")
    with one.instance("n1", *RELOAD) as running:
        has_run(running, 1)
        out, err = interrupted(one, change, lambda: "the inner main died (exit code 1)" in running.log())
        assert out == "n1: 1 file, interrupted; the old files are back\n", (out, err)
        until(lambda: states(one) == {"n1": "running"}, "the old code", running.log)
        assert "REVISION = 0" in one.spider.read_text()


def test_a_change_that_has_no_place_changes_nothing(nodes: list[Crawl], tmp_path: Path) -> None:
    one, _ = nodes
    (lost := tmp_path / "shopp.py").write_text("")
    (ambiguous := tmp_path / "__init__.py").write_text("")
    (flat := tmp_path / "flat").mkdir()
    (flat / "shop.py").write_text("")
    assert "no instance runs" in push(one, lost, code=1)
    with one.instance("n1", *RELOAD) as running:
        has_run(running, 1)
        for path, why in (
            (lost, "has no file named shopp.py; push a folder"),
            (ambiguous, "has several files named __init__.py (crawling/__init__.py, "),
            (flat, "has nothing in crawling/ or spiders/; its files need their paths from the code root"),
            (tmp_path / "nowhere", "is no file and no folder"),
        ):
            assert why in push(one, path, code=2)
        assert "--rolling" in one.manage("push", str(lost), code=2)
        assert "change noticed" not in running.log()
