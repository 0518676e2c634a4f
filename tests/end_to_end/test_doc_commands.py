"""Every command that README and docs show is run, in a folder that has what it names.

Those that visit all of a shop get a small one.
"""

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from test_docs import PAGES, ROOT, commands

README = (ROOT / "README.md").read_text("utf-8")
# What stands for something of the reader's own.
NAMES = {
    "SUBJECT": "idempotent",
    "NAME": "my.toml",
    "DIR": "job",
    "[--json]": "--json",
    "path/to/subject.toml": "./subject.toml",
    "results/<campaign>": "results/comparison",
    "results/gate-SUBJECT": "results/comparison",
    "results/reference/comparison": "results/comparison",
}
# Minutes each: run by `make doc-commands` alone, which is nightly. The words a command begins with.
LONG = (
    "bench --mtbf",
    "bench misbehaviour",
    "bench mtbf",
    "explore idempotent --errors --every",
    "explore scrapy_durable",
    "explore scrapy_jobdir",
    "run reload_queue",
    "sweep scrapy_durable",
    "sweep scrapy_jobdir",
    "zoo --jobs",
)
SMALL = ["--site", "list_pages=1", "--site", "products=3"]
MINE = """
import re, sqlite3, sys, urllib.request

REVISION = 1
site, db = sys.argv[1], sqlite3.connect("crawl.db", isolation_level=None, timeout=30)
db.execute("CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, price TEXT)")


def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()


page = "/list/0"
while page:
    text = get(page)
    for path in re.findall(r'href="(/product/\\d+)"', text):
        row = re.findall(r'class="(?:sku|price)">([^<]+)<', get(path))
        db.execute("INSERT OR REPLACE INTO products VALUES (?, ?)", row[:2])
        with open("out.csv", "a") as file:
            file.write(("" if file.tell() else "sku,price\\n") + ",".join(row[:2]) + "\\n")
    page = next(iter(re.findall(r'class="next" href="([^"]+)"', text)), None)
"""
SHELL = """
mkdir -p pages
page=/list/0
while [ -n "$page" ]; do
  curl -s "$1$page" > list
  for product in $(grep -o '/product/[0-9]*' list); do
    curl -s -o "pages/$(basename "$product").html" "$1$product"
  done
  page=$(sed -n 's/.*class="next" href="\\([^"]*\\)".*/\\1/p' list)
done
"""
MANIFEST = """
name = "{name}"
command = ["{{python}}", "mine.py", "{{site_url}}"]
{more}

[store]
reader = "sqlite"
path = "crawl.db"
query = "SELECT sku AS key, price FROM products"
"""
# Faults at up to 60 requests fit into it.
SHOP = """
[site]
list_pages = 4
products = 80
"""
CAMPAIGN = """
schema = 1
name = "{name}"
title = "A small one"
seed = "1"
subjects = ["./mine"]
keep = "always"
controls = 1

[site]
list_pages = 1
products = 5

[[schedules]]
group = "start-KILL"
trials = 3
kills = 1
trigger = "request"
between = [4, 5]
"""


def shown() -> list[tuple[str, tuple[str, ...]]]:
    """Each command once, with the page that shows it first; those that only name a command are left out."""
    found: dict[tuple[str, ...], str] = {}
    for page in PAGES:
        for words in commands(page) if page.name != "cli.md" else []:
            if any(not word.startswith("-") for word in words[2:]) or words[1] == "doctor":
                found.setdefault(tuple(words[1:]), page.name)
    return [(page, words) for words, page in found.items()]


def is_long(words: tuple[str, ...]) -> bool:
    """Whether a command takes minutes."""
    return f"{' '.join(words)} ".startswith(LONG)


def prepared(words: tuple[str, ...], folder: Path) -> list[str]:
    """The command as it is run; the folder gets what it names."""
    text = " ".join(words)
    more = [
        'reload = ["mine.py"]' if "reload:" in text else "",
        'services = ["valkey"]' if "service:" in text else "",
        "instances = 2" if "instance=" in text else "",
    ]
    (folder / "mine").mkdir()
    for place, name in ((folder, "shop"), (folder / "mine", "mine"))[words[0] == "init" :]:
        # Where something has to be found, rows are stored twice.
        text_of = MINE.replace(" PRIMARY KEY", "") if words[0] in ("shrink", "replay") else MINE
        (place / "mine.py").write_text(text_of, "utf-8")
        manifest = MANIFEST.format(name=name, more="\n".join(more)) + (SHOP if name == "mine" else "")
        (place / "subject.toml").write_text(manifest, "utf-8")
    (folder / "crawl.py").write_text(MINE, "utf-8")
    (folder / "crawl.sh").write_text(SHELL, "utf-8")
    found = re.search(r"```js\n(// crawl\.js\n.*?)```", README, re.DOTALL)
    assert found is not None
    (folder / "crawl.js").write_text(found[1], "utf-8")
    (folder / "my.toml").write_text(CAMPAIGN.format(name="my"), "utf-8")
    if words[0] != "init":  # it writes these itself
        (folder / "budget.toml").write_text("[default]\nlost = 0\n", "utf-8")
    _results(text, folder)
    own = [NAMES.get(word, word) for word in words]
    if own[0] == "init":
        own[1:1] = ["--yes"]  # it asks, and there is nobody to answer
    is_told = any(word.startswith("results/") and before != "--baseline" for before, word in pairwise(own))
    visits_all = (own[0] in ("explore", "sweep", "gate") and not is_told) or own[:2] == ["replay", "schedule.json"]
    if visits_all and "--site" not in own:
        end = own.index("--") if "--" in own else len(own)
        own[end:end] = SMALL
    return own


def _results(text: str, folder: Path) -> None:
    """The campaigns whose results a command names."""
    for name in ("article", "comparison", "main"):
        if f"results/{name}" in text or (name == "comparison" and re.search(r"results/(<|gate|reference)", text)):
            # A trial of it is named after one of its subjects.
            subject = "naive" if f"results/{name}/trials/naive--" in text else "./mine"
            (folder / f"{name}.toml").write_text(CAMPAIGN.format(name=name).replace("./mine", subject), "utf-8")
            assert killtest(["bench", f"{name}.toml"], folder).returncode == 0
    if "results/run-mine-001" in text:
        assert killtest(["run", "mine", "--fault", "request:30 KILL"], folder).returncode in (0, 1)
    if text.startswith("inspect"):
        killtest(["run", "scrapy_jobdir:article", "--fault", "request:19 INT"], folder)
        (left,) = (folder / "results").glob("run-*/trials/*INT/store/job")
        shutil.copytree(left, folder / "job")
    if "schedule.json" in text:
        (folder / "s.toml").write_text(CAMPAIGN.format(name="s"), "utf-8")
        killtest(["bench", "s.toml"], folder)
        kept = next((folder / "results" / "s" / "trials").glob("*KILL-1/schedule.json"))
        shutil.copy(kept, folder / "schedule.json")


def killtest(words: list[str], folder: Path, within_s: float = 280) -> subprocess.CompletedProcess[str]:
    """A command, with the interpreter of the tests as `python`."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    argv = [sys.executable, "-m", "killtest", *words]
    return subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=within_s
    )


def test_what_takes_minutes_is_still_shown() -> None:
    for start in LONG:
        assert any(f"{' '.join(words)} ".startswith(start) for _, words in shown()), start


@pytest.mark.timeout(300)
@pytest.mark.parametrize("words", [words for _, words in shown() if not is_long(words)], ids=" ".join)
def test_a_command_that_is_shown_does_what_it_is_shown_for(words: tuple[str, ...], tmp_path: Path) -> None:
    expect_what_it_shows(killtest(prepared(words, tmp_path), tmp_path))


@pytest.mark.skipif("KILLTEST_DOC_COMMANDS" not in os.environ, reason="minutes each: make doc-commands")
@pytest.mark.timeout(1900)
@pytest.mark.parametrize("words", [words for _, words in shown() if is_long(words)], ids=" ".join)
def test_a_command_that_takes_minutes_does_so_too(words: tuple[str, ...], tmp_path: Path) -> None:
    # As it is shown, on the shop it is shown for.
    expect_what_it_shows(killtest([NAMES.get(word, word) for word in words], tmp_path, within_s=1800))


def expect_what_it_shows(done: subprocess.CompletedProcess[str]) -> None:
    """It ended with a verdict, and whatever was to strike has struck."""
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1), f"{done.returncode}: {said[-2000:]}"
    assert done.stdout.strip()
    assert "Traceback" not in said
    # A fault that never strikes would be shown in vain, and a schedule that nobody runs as well.
    assert not re.search(r"not_reached|^UNKNOWN", done.stdout, re.MULTILINE)
    assert " missing  missing " not in done.stdout
