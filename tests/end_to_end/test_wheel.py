"""The built wheel works without a checkout; an editable install takes its data from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import built_wheel
import pytest
from killtest.plan import subject

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built_wheel.build(folder)) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_wheel_holds_the_packages_and_the_data_and_nothing_else(unpacked: Path) -> None:
    tops = {path.name.partition("-")[0] for path in unpacked.iterdir()}
    assert tops == {"killtest", "killtest_testsite"}
    data = unpacked / "killtest" / "data"
    assert {path.name for path in data.iterdir()} == {"campaigns", "crawlers"}
    assert not list(unpacked.rglob("__pycache__"))


def run(unpacked: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line of the unpacked wheel, and of no other."""
    script = (
        "import killtest, killtest_testsite, sys\n"
        f"assert killtest.__file__.startswith({str(unpacked)!r}), killtest.__file__\n"
        "from killtest.cli import main\nmain()\n"
    )
    command = [sys.executable, "-c", script, *words]
    env = os.environ | {"PYTHONPATH": str(unpacked)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_wheel_runs_a_reference_crawler_without_the_checkout(unpacked: Path, tmp_path: Path) -> None:
    words = ["run", "naive", "--site", "products=6", "--site", "list_pages=2", "--fault", "request:3 KILL"]
    done = run(unpacked, tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FAIL  naive  6 of 6 products in 7 rows"), done.stdout


def test_wheel_holds_the_zoo_with_what_its_animals_share(unpacked: Path, tmp_path: Path) -> None:
    done = run(unpacked, tmp_path, "zoo", "exit-hook-interrupted")
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_holds_the_scripts_and_styles_of_the_pages(unpacked: Path) -> None:
    within = Path("killtest") / "report" / "pages"
    here = {path.name for path in (ROOT / "harness" / within).iterdir() if path.suffix in (".js", ".css")}
    assert {"page.css", "index.js", "trial.js", "map.js"} <= here
    assert here <= {path.name for path in (unpacked / within).iterdir()}


def test_checkout_comes_before_the_copy_that_an_editable_install_made() -> None:
    assert subject.data_folder("crawlers") == ROOT / "crawlers"
    assert subject.data_folder("campaigns") == ROOT / "campaigns"
