"""The pytest plug-in in somebody else's project, installed from the built wheel in a clean environment."""

import os
import re
import subprocess
from pathlib import Path

import built_wheel
import foreign_project
import pytest

HEAVY = {"click", "flask", "gevent", "msgspec", "pandas", "psutil", "rich", "tomli_w"}


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return built_wheel.environment(folder / "environment", built_wheel.build(folder), "pytest", "pytest-xdist")


class Project:
    """The foreign project, and what its developers type in it."""

    def __init__(self, root: Path, bin_folder: Path) -> None:
        self.root, self.bin = foreign_project.make(root / "project"), bin_folder
        # Nothing of the environment that runs this test: no PYTHONPATH, no PYTEST_ADDOPTS, none of xdist's.
        self.env = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        self.base = root / "evidence"

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )

    def pytest(self, *words: str) -> str:
        done = self.shell(f"pytest -p no:cacheprovider --basetemp={self.base} {' '.join(words)}")
        assert not done.stderr, done.stderr
        return done.stdout


@pytest.fixture
def project(tmp_path: Path, bin_folder: Path) -> Project:
    return Project(tmp_path, bin_folder)


def told(output: str, word: str) -> list[str]:
    """What stands behind `word:` in the explanations of an output, each once."""
    found = re.findall(rf"^(?:E  )? +{word}: +(.*)$", output, re.MULTILINE)
    return sorted(set(found))


@pytest.mark.parametrize("mode", ["--import-mode=importlib", "--import-mode=prepend", "-n2"])
def test_failing_crawlers_fail_with_proof_and_sound_ones_pass(project: Project, mode: str) -> None:
    output = project.pytest(mode, "tests")
    assert re.search(r"^=+ 2 failed, 2 passed in", output, re.MULTILINE), output
    assert "FAILED tests/test_kills.py::test_insert_does_not" in output
    assert re.search(r"^E +AssertionError: FAIL  insert  30 of 30 products", output, re.MULTILINE), output
    seeds = [
        f"seed='tests/test_kills.py::test_{name}'" for name in ("insert_does_not", "report_tells_what_the_test_did_not")
    ]
    assert told(output, "seed") == seeds
    assert len(told(output, "schedule")) == 2
    evidence = [Path(path) for path in told(output, "evidence")]
    assert len(evidence) == 2
    for path in evidence:
        assert path.is_relative_to(project.base)
        assert (path / "store" / "crawl.db").is_file()


def test_reproduce_command_works_when_pasted(project: Project) -> None:
    output = project.pytest("-k", "insert", "tests")
    (command,) = told(output, "reproduce")
    headline = re.search(r"^E +AssertionError: (FAIL .*)$", output, re.MULTILINE)
    assert headline is not None, output
    done = project.shell(command)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0] == headline[1]


def test_results_folder_and_the_same_kills_in_every_kind_of_run(project: Project) -> None:
    alone = project.pytest("-k", "insert", "--killtest-results=kept", "tests")
    group = project.pytest("-k", "insert", "--killtest-results=kept", "-n1", "--dist=loadgroup", "tests")
    assert told(alone, "schedule") == told(group, "schedule") != []
    assert sorted(path.name for path in (project.root / "kept").iterdir()) == ["run-insert-001", "run-insert-002"]
    heading = (project.root / "kept" / "run-insert-001" / "campaign.toml").read_text().splitlines()[0]
    assert heading == "# What the test 'tests/test_kills.py::test_insert_does_not' asked for."


def test_the_documented_example_fails_as_documented(project: Project) -> None:
    docs = (built_wheel.ROOT / "docs" / "pytest.md").read_text("utf-8")
    readme = (built_wheel.ROOT / "README.md").read_text("utf-8")
    for name, text in {"tests/test_mine.py": docs, "mine.py": readme}.items():
        found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
        assert found is not None
        (project.root / name).write_text(found[1])
    output = project.pytest("tests/test_mine.py")
    shown = re.findall(r"^E  [^…\n]*", docs, re.MULTILINE)
    assert len(shown) > 8
    for line in shown:
        assert line in output


def test_nothing_is_imported_until_a_test_asks(project: Project) -> None:
    script = (
        "import pytest, sys; pytest.main(['-q', '--collect-only', '-p', 'no:cacheprovider', 'tests']); "
        f"print(sorted(name for name in sys.modules if name.startswith('killtest') or name in {HEAVY}))"
    )
    done = project.shell(f'python -c "{script}"')
    assert "test_insert_does_not" in done.stdout
    assert done.stdout.splitlines()[-1] == "['killtest', 'killtest.pytest_plugin']"
