"""`killtest explore --errors` as a user runs it: on crawlers that name the cause, hide it, or swallow it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killtest.trace import seccomp

pytestmark = pytest.mark.skipif(bool(seccomp.refusal()), reason="this machine allows no seccomp notification")


def explore(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "explore", *words, "--results", str(tmp_path / "results")]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


def crawler(tmp_path: Path, otherwise: str = "raise", products: int = 2) -> tuple[str, ...]:
    """A crawler of so many products, a file each, sound but for what it does `otherwise` about an error."""
    text = (
        "import os, sys, urllib.request\n"
        "site = os.environ['KILLTEST_SITE_URL']\n"
        "urllib.request.urlopen(site + '/list/0').read()\n"
        f"for n in range(1, {products + 1}):\n"
        "    urllib.request.urlopen(f'{site}/product/{n}').read()\n"
        "    try:\n"
        "        with open('new', 'w') as file: file.write('x')\n"
        "        os.replace('new', 'SKU-0000%d.json' % n)\n"
        f"    except OSError: {otherwise}\n"
    )
    (tmp_path / "crawl.py").write_text(text)
    store = ("--store", "files:SKU*.json", "--key", r"(SKU-\d+)\.json$")
    shop = ("--site", "list_pages=1", "--site", f"products={products}")
    return (*shop, *store, "--", sys.executable, "crawl.py")


def points(tmp_path: Path) -> list[dict[str, Any]]:
    (log,) = (tmp_path / "results").glob("explore-*/errors.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_crawler_that_names_the_cause_passes_at_every_call(tmp_path: Path) -> None:
    done = explore(tmp_path, "--errors", "--every", *crawler(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = points(tmp_path)
    # A creating open, a write and a rename for each product, four ways each.
    assert len(found) == 24
    assert {(one["reaction"], one["exit"], one["starts"]) for one in found} == {("named", 1, 2)}
    assert {one["calls"] for one in found if one["fault"].endswith("*1")} == {1}
    assert "0 of 24 error points fail; 24 are possible at 6 durable steps" in done.stdout
    assert "note: One error a crawl" in done.stdout
    assert not list((tmp_path / "results").glob("explore-*/bench-*"))


def test_crawler_that_hides_the_cause_is_told_with_a_command_that_shows_it(tmp_path: Path) -> None:
    done = explore(tmp_path, "--errors", *crawler(tmp_path, "sys.exit('could not go on')", products=4))
    assert done.returncode == 1, done.stdout + done.stderr
    found = points(tmp_path)
    assert 0 < len(found) < 48
    assert {(one["reaction"], tuple(one["findings"]), one["recovered"]) for one in found} == {
        ("not_named", ("unexplained",), True)
    }
    assert (
        f"note: {len(found)} of 48 error points were tried, three of each kind: --every tries them all" in done.stdout
    )
    line = next(line for line in done.stdout.splitlines() if "reproduce:" in line)
    words = line.split("reproduce: killtest ")[1]
    again = f"{sys.executable} -m killtest {words} --results {tmp_path}/again".replace(" -- ", " --controls 1 -- ")
    shown = subprocess.run(again, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode == 1, again + shown.stderr
    assert "unexplained: incarnation 0 (exit 1 behind ENOSPC at openat new; it said: could not go on)" in shown.stdout


def test_crawler_that_swallows_it_loses_rows_and_says_that_it_is_done(tmp_path: Path) -> None:
    done = explore(tmp_path, "--errors", "--json", *crawler(tmp_path, "pass"))
    told = json.loads(done.stdout)
    assert (done.returncode, told["outcome"]) == (1, "FAIL")
    rows = {(row["errno"], row["lasts"]): row for row in told["rows"]}
    assert set(rows) == {(errno, lasts) for errno in ("EIO", "ENOSPC") for lasts in ("once", "from then on")}
    for row in rows.values():
        assert row["went_on"] == row["failing"] == row["points"]
        assert (row["exits"], row["recovered"]) == ({"0": row["points"]}, 0)
    calls = {one["fault"]: one["calls"] for one in points(tmp_path)}
    assert {count for fault, count in calls.items() if fault.endswith("*1")} == {1}
    assert calls["syscall:openat#1 enospc"] == 2  # from the first creating open on, both


def test_every_without_errors_is_a_usage_error(tmp_path: Path) -> None:
    done = explore(tmp_path, "--every", *crawler(tmp_path))
    assert done.returncode == 2
    assert "--every goes with --errors" in done.stderr


@pytest.mark.parametrize("words", [("--raw",), ("--confirm", "3"), ("--confirm", "0")], ids=" ".join)
def test_options_about_states_and_kills_are_refused_with_errors(words: tuple[str, ...], tmp_path: Path) -> None:
    done = explore(tmp_path, "--errors", *words, *crawler(tmp_path))
    assert done.returncode == 2
    assert f"{words[0]} does not go with --errors: each point is a crawl of its own" in done.stderr
    assert not (tmp_path / "results").exists()
