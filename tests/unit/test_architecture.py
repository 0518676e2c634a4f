"""Walls and sizes: what may import what, and how long a file or function may get."""

import ast
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for folder in ("harness", "testsite", "crawlers", "bench") for path in (ROOT / folder).rglob("*.py")
)
DRAWERS = {"utils", "util", "helpers", "common", "misc", "base", "types"}


def imported(path: Path) -> set[str]:
    """The top-level names of the modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def functions(path: Path) -> list[tuple[str, int]]:
    """Name and length in lines, without the docstring, of every function of a file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            body = node.body[1:] if doc is not None else node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 1
            found.append((f"{path.relative_to(ROOT)}:{node.name}", lines))
    return found


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 60


@pytest.mark.parametrize("path", sorted((ROOT / "crawlers").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_crawler_imports_killtest(path: Path) -> None:
    assert not imported(path) & {"killtest", "killtest_testsite"}


def test_the_harness_imports_no_server_and_no_crawler() -> None:
    own = {path.stem for path in (ROOT / "crawlers").rglob("*.py")}
    for path in (ROOT / "harness").rglob("*.py"):
        strangers = imported(path) - set(sys.stdlib_module_names)
        assert not strangers & {"flask", "gevent", "scrapy", "killtest_testsite"}, path
        assert not strangers & (own - {"killtest"}), path


def test_files_are_short_and_no_drawer_collects_leftovers() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {path: n for path, n in lengths.items() if n > 350} == {}
    assert not {path for path in SOURCES if path.stem in DRAWERS}


def test_functions_are_short() -> None:
    found = [one for path in SOURCES for one in functions(path)]
    assert [one for one in found if one[1] > 40] == []
    assert statistics.median(length for _, length in found) <= 10


def test_only_the_boundaries_of_trial_process_and_spider_catch_everything() -> None:
    broad = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert [place.rpartition(":")[0] for place in broad] == [
        "crawlers/reload_queue/crawling/worker.py",
        "crawlers/reload_queue/published/worker.py",
        "harness/killtest/campaigns/campaign_run.py",
        "harness/killtest/cli/group.py",
    ]


def test_importing_the_command_group_imports_nothing_heavy() -> None:
    import subprocess

    script = (
        "import sys, killtest.cli.group; print(sorted({'pandas', 'matplotlib', 'rich', 'psutil'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
