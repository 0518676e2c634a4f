"""Somebody else's project: packages called like our folders, modules called like ours, and crawlers of its own."""

from pathlib import Path

# Starts at page one each time; WAY is how it stores a row.
CRAWL = """
import re, sqlite3, sys, urllib.request

site, way = sys.argv[1], "WAY"
db = sqlite3.connect("crawl.db", isolation_level=None)
db.execute(f"CREATE TABLE IF NOT EXISTS products (sku TEXT {'PRIMARY KEY' if way == 'REPLACE' else ''}, price TEXT)")


def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()


page = "/list/0"
while page:
    text = get(page)
    for path in re.findall(r'href="(/product/\\d+)"', text):
        row = re.findall(r'class="(?:sku|price)">([^<]+)<', get(path))
        db.execute(f"{way} INTO products VALUES (?, ?)", row[:2])
    following = re.search(r'rel="next"[^>]*href="([^"]+)"|href="([^"]+)"[^>]*rel="next"', text)
    page = following and (following[1] or following[2])
"""

TEST_KILLS = """
import sys

import pytest

WISH = dict(store="sqlite:crawl.db", query="SELECT sku AS key, price FROM products", kills=2)


def test_upsert_survives(killtest):
    verdict = killtest([sys.executable, "crawlers/upsert.py", "{site_url}"], **WISH)
    assert verdict.passed, verdict.explain()


@pytest.mark.xdist_group("kills")
def test_insert_does_not(killtest):
    verdict = killtest([sys.executable, "crawlers/insert.py", "{site_url}"], **WISH)
    assert verdict.passed, verdict.explain()


def test_report_tells_what_the_test_did_not(killtest):
    assert not killtest([sys.executable, "crawlers/insert.py", "{site_url}"], **WISH).passed is False
"""

TEST_NAMES = """
from pathlib import Path

import crawlers, harness, verdict
import crawlers.naive, harness.conductor

ROOT = Path(__file__).resolve().parents[1]


def test_names_are_ours():
    for module in (crawlers, crawlers.naive, harness, harness.conductor, verdict):
        assert Path(module.__file__).is_relative_to(ROOT)
"""


def make(root: Path) -> Path:
    """The project, in `root`."""
    for name in ("crawlers", "harness", "tests"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text("")
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\nfilterwarnings = error\naddopts = --strict-markers\n")
    (root / "crawlers" / "naive.py").write_text("")
    for name, way in {"upsert": "REPLACE", "insert": "INSERT"}.items():
        (root / "crawlers" / f"{name}.py").write_text(CRAWL.replace("WAY", way))
    (root / "harness" / "conductor.py").write_text("")
    (root / "verdict.py").write_text("")
    (root / "tests" / "test_kills.py").write_text(TEST_KILLS)
    (root / "tests" / "test_names.py").write_text(TEST_NAMES)
    return root
