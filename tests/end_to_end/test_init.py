"""`killtest init`, then `killtest run`, for crawlers in other languages than ours; and what init says when it can't."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from killtest.plan import manifest

# In CI a missing program is a failure: .ci/run installs both.
needs_node = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("CI"), reason="no node here; the CI has it"
)
needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None and not os.environ.get("CI"), reason="no curl here; the CI has it"
)

# Has no memory: a restart begins at page one and appends again what the file holds already.
NODE = """
import { appendFileSync } from "node:fs";
const site = process.argv[2];
const get = async (path) => (await fetch(site + path)).text();
let page = "/list/0";
while (page) {
  const list = await get(page);
  for (const [, path] of list.matchAll(/href="(\\/product\\/\\d+)"/g)) {
    const html = await get(path);
    const field = (name) => html.match(`class="${name}">([^<]+)<`)[1];
    appendFileSync("out.jsonl", JSON.stringify({ sku: field("sku"), price: field("price"), when: Date.now() }) + "\\n");
  }
  page = list.match(/class="next" href="([^"]+)"/)?.[1];
}
"""

# Leaves out what is there already. `>` makes the file before curl has asked for the page.
SHELL = """
set -e
mkdir -p pages
page=/list/0
while [ -n "$page" ]; do
  list=$(curl -sS "$1$page")
  for n in $(printf '%s' "$list" | grep -o 'href="/product/[0-9]*"' | grep -o '[0-9]*'); do
    [ -e "pages/$n.html" ] || SAVE
  done
  page=$(printf '%s' "$list" | sed -n 's/.*class="next" href="\\([^"]*\\)".*/\\1/p')
done
"""
IN_PLACE = 'curl -sS "$1/product/$n" > "pages/$n.html"'
BY_RENAME = '{ curl -sS "$1/product/$n" > part && mv part "pages/$n.html"; }'


def killtest(*words: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=stdin, timeout=100, check=False)


def python_crawler(folder: Path, body: str) -> list[str]:
    """The words after `--` for a Python program `body`, which has `site` and `get`."""
    head = (
        "import json, os, re, sqlite3, sys, urllib.request\nsite = sys.argv[1]\n"
        "def get(path): return urllib.request.urlopen(site + path).read().decode()\n"
    )
    (folder / "crawl.py").write_text(head + body)
    return ["--", "{python}", "crawl.py", "{site_url}"]


def init_of_node(folder: Path) -> subprocess.CompletedProcess[str]:
    """The Node crawler, and what init says to it."""
    (folder / "crawl.mjs").write_text(NODE)
    return killtest("init", "--yes", "--", "node", "crawl.mjs", "{site_url}", cwd=folder)


def init_of_curl(folder: Path, save: str = IN_PLACE) -> subprocess.CompletedProcess[str]:
    """The shell crawler, and what init says to it."""
    (folder / "crawl.sh").write_text(SHELL.replace("SAVE", save))
    return killtest("init", "--yes", "--name", "curl", "--", "sh", "crawl.sh", "{site_url}", cwd=folder)


def judged(folder: Path, fault: str) -> dict[str, Any]:
    """What `run` says of the manifest that init wrote, with one control, under one kill."""
    done = killtest("run", "./subject.toml", "--fault", fault, "--controls", "1", "--json", cwd=folder)
    assert done.stdout, done.stderr
    line: dict[str, Any] = json.loads(done.stdout)
    assert line["faults"][0]["status"] == "struck"
    return line


@needs_node
def test_node_crawler_with_json_lines_goes_through_init_and_run(tmp_path: Path) -> None:
    done = init_of_node(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PASS  crawl  30 of 30 products in 30 rows; 33 requests, 0 repeated\n")
    who = manifest.load(tmp_path / "subject.toml")
    assert (who.name, who.command) == ("crawl", ("node", "crawl.mjs", "{site_url}"))
    assert (who.store.reader, who.store.path, who.store.key) == ("jsonl", "out.jsonl", "sku")

    # Request 5 is /product/4 (after one list page): three rows are in the file, and the restart appends all thirty.
    line = judged(tmp_path, "request:5 KILL")
    assert (line["outcome"], line["cause"]) == ("FAIL", "faults")
    assert line["data"]["rows"] == 33
    assert line["data"]["duplicated"]["keys"] == {"SKU-00001": 1, "SKU-00002": 1, "SKU-00003": 1}
    assert [line["data"][name]["count"] for name in ("lost", "missed", "corrupted", "unexpected")] == [0, 0, 0, 0]


@needs_curl
def test_shell_crawler_with_a_file_per_page_goes_through_init_and_run(tmp_path: Path) -> None:
    done = init_of_curl(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "compared with the shop: the key, availability, currency, price, title\n" in done.stdout
    store = manifest.load(tmp_path / "subject.toml").store
    assert (store.reader, store.path, store.key_from) == ("files", "pages/*.html", "content")

    # Killed while /product/4 is held, it leaves an empty pages/4.html, which the restart takes for done.
    line = judged(tmp_path, "request:5 KILL")
    assert (line["outcome"], line["cause"], line["data"]["false_done"]) == ("FAIL", "faults", True)
    assert line["data"]["lost"]["keys"] == {"SKU-00004": "held"}
    assert line["data"]["corrupted"]["keys"] == {"pages/4.html": "no key"}
    assert line["data"]["duplicated"]["count"] == line["data"]["missed"]["count"] == 0

    # Mended, under the same kill: a file that is there is whole. The page in flight and the list page are repeated.
    (tmp_path / "crawl.sh").write_text(SHELL.replace("SAVE", BY_RENAME))
    line = judged(tmp_path, "request:5 KILL")
    assert (line["outcome"], line["data"]["rows"], line["traffic"]["repeated"]) == ("PASS", 30, 2)


def test_database_is_found_with_its_table_and_its_columns(tmp_path: Path) -> None:
    words = python_crawler(
        tmp_path,
        "db = sqlite3.connect('shop.db')\n"
        "db.execute('CREATE TABLE seen (url)')\n"
        'db.execute(\'CREATE TABLE "the items" (id INTEGER PRIMARY KEY, "Art No" TEXT, price TEXT)\')\n'
        "for n in range(3):\n"
        "    for path in re.findall(r'/product/[0-9]+', get(f'/list/{n}')):\n"
        "        page = get(path)\n"
        "        row = [re.search(f'class=\"{f}\">([^<]+)', page)[1] for f in ('sku', 'price')]\n"
        "        db.execute('INSERT INTO seen VALUES (?)', [path])\n"
        "        db.execute('INSERT INTO \"the items\" VALUES (NULL, ?, ?)', row)\n"
        "db.commit()\n",
    )
    done = killtest("init", "--yes", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    store = manifest.load(tmp_path / "subject.toml").store
    assert (store.path, store.query) == ("shop.db", 'SELECT "Art No" AS key, price FROM "the items"')


ONE_PAGE = "skus = re.findall(r'SKU-[0-9]+', get('/list/0'))\n"
LINES = ONE_PAGE + "open('out.jsonl', 'w').writelines(json.dumps({'id': s, 'n': 1}) + '\\n' for s in skus)\n"


def test_crawler_that_fails_undisturbed_gets_its_files_and_is_told(tmp_path: Path) -> None:
    done = killtest("init", "--yes", *python_crawler(tmp_path, LINES), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  crawl  10 of 30 products in 10 rows; 20 missed; said it was done")
    assert "It fails without any fault: mend that first, no kill is to blame." in done.stdout
    assert manifest.load(tmp_path / "subject.toml").store.key == "id"


@pytest.mark.parametrize(
    ("body", "flags", "complaint"),
    [
        ("print('hello')\nsys.exit('no such option')", [], "the crawler never touched the site. It ended with code 1."),
        ("sys.exit('no such option')", [], "The end of its stderr:\n    no such option"),
        ("get('/robots.txt')", [], "it asked for /robots.txt only, which is no page of it"),
        ("get('/list/0')\n1/0", [], "the crawler ended with code 1, after 1 page requests, without any fault."),
        ("get('/list/0')\n1/0", [], "    ZeroDivisionError: division by zero"),
        ("get('/list/0')", [], "nothing stored: it made 1 page requests and ended with code 0"),
        (LINES, [], "--store is missing; it looks like --store jsonl:out.jsonl --key id: give that, or --yes to take"),
        (
            LINES,
            ["--store", "jsonl:out.jsonl", "--key", "sku"],
            "the key sku is missing in all 10 rows of jsonl:out.js",
        ),
        (LINES, ["--store", "jsonl:out.jsonl", "--key", "sku"], "(id, n)"),
        (
            LINES,
            ["--store", "jsonl:out.jsonl", "--key", "n"],
            "the key n gives 1, 1, 1, but the shop's keys are SKU-000",
        ),
        (LINES, ["--store", "jsonl:o.jsonl", "--key", "id"], "store jsonl:o.jsonl is not there, or has no such table"),
        (LINES, ["--store", "jsonl:o.jsonl", "--key", "id"], "There is: out.jsonl"),
        (
            LINES,
            ["--store", "sqlite:out.jsonl", "--query", "SELECT id AS key FROM t"],
            "can't be read: store out.jsonl: file is",
        ),
        (LINES, ["--store", "jsonl:o.jsonl"], "--key is missing, and no column of jsonl:o.jsonl has the shop's keys"),
        (LINES, ["--key", "id"], "--key and --query go with --store"),
        (LINES, ["--store", "xml:out.xml"], "reader 'xml' is unknown; built: sqlite, jsonl, csv, json, files"),
        (LINES, ["--name", "../x"], "--name: "),
        (ONE_PAGE + "open('notes.txt', 'w').write('x')", ["--yes"], "nothing that it stored has the shop's keys"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words_and_nothing_is_written(
    body: str, flags: list[str], complaint: str, tmp_path: Path
) -> None:
    done = killtest("init", *flags, *python_crawler(tmp_path, body), cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr or "ZeroDivision" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"crawl.py"}


def test_columns_of_a_database_are_named_when_the_query_asks_for_another(tmp_path: Path) -> None:
    body = ONE_PAGE + "db = sqlite3.connect('x.db')\ndb.execute('CREATE TABLE items (art, price)')\n"
    query = ["--store", "sqlite:x.db", "--query", "SELECT sku AS key FROM items"]
    done = killtest("init", *query, *python_crawler(tmp_path, body), cwd=tmp_path)
    assert "can't be read: store x.db: no such column: sku" in done.stderr
    assert "(items has art, price)" in done.stderr


def test_without_a_terminal_the_missing_command_is_one_line_and_2(tmp_path: Path) -> None:
    done = killtest("init", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "killtest: no command: put it behind --, for example: killtest init -- node crawl.js {site_url}\n"
    )


def test_in_a_terminal_it_asks_and_proposes(tmp_path: Path) -> None:
    python_crawler(tmp_path, LINES)
    ours, theirs = pty.openpty()
    os.write(ours, b"{python} crawl.py {site_url}\nmine\ny\n")
    done = killtest("init", cwd=tmp_path, stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert "--store jsonl:out.jsonl --key id" in done.stderr
    who = manifest.load(tmp_path / "subject.toml")
    assert (who.name, who.store.key) == ("mine", "id")


def test_files_are_never_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("mine")
    words = python_crawler(tmp_path, LINES)
    done = killtest("init", "--yes", *words, cwd=tmp_path)
    assert (done.returncode, (tmp_path / "budget.toml").read_text()) == (2, "mine")
    assert "budget.toml: already in this folder; --force writes over it" in done.stderr
    assert killtest("init", "--yes", "--force", *words, cwd=tmp_path).returncode == 1
    budget = tomllib.loads((tmp_path / "budget.toml").read_text())
    assert set(budget) == {"default"}
    assert set(budget["default"].values()) == {0}
    assert "killtest gate ./subject.toml --budget budget.toml" in (tmp_path / "killtest-ci.yml").read_text()


def gated(folder: Path) -> dict[str, Any]:
    """What `gate` says of the manifest and the budget that init wrote, on a shop of 5 requests: 20 kills."""
    # Both start anew after a kill and fetch again what they had: a cost, which their authors allow themselves.
    budget = folder / "budget.toml"
    budget.write_text(re.sub(r"requests_over( *)= 0", r"requests_over\1= 5", budget.read_text(), count=1))
    small = ["--site", "products=4", "--site", "list_pages=1"]
    done = killtest("gate", "./subject.toml", "--budget", "budget.toml", *small, "--json", cwd=folder)
    told: dict[str, Any] = json.loads(done.stdout)
    assert {"PASS": 0, "FAIL": 1}[told["outcome"]] == done.returncode, done.stderr
    assert (folder / "results" / f"gate-{told['subjects'][0]['subject']}" / "junit.xml").is_file()
    return told


@needs_node
def test_node_crawler_goes_through_the_gate(tmp_path: Path) -> None:
    init_of_node(tmp_path)
    told = gated(tmp_path)
    # It starts anew and appends: whatever it had stored when it was killed is there twice.
    assert told["outcome"] == "FAIL"
    assert [breach["what"] for breach in told["breaches"]] == ["duplicated"]


@needs_curl
def test_curl_crawler_goes_through_the_gate(tmp_path: Path) -> None:
    init_of_curl(tmp_path, save=BY_RENAME)
    told = gated(tmp_path)
    assert (told["outcome"], told["breaches"]) == ("PASS", [])
    assert told["subjects"][0]["struck"] == 20
