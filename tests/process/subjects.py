"""Tiny subjects for process tests, written as programs into a folder of the test's."""

import textwrap
from pathlib import Path

from killtest.plan.manifest import Limits, SiteNeeds, StoreNeeds, Subject

SMALL = SiteNeeds(products=6, list_pages=2)
FAST = Limits(idle_s=2, total_s=20, restarts=2, grace_s=1, hold_s=5)

# Crawls the shop and appends a line per product; a test fills in `BEFORE`, `AFTER` and, behind every product, `EACH`.
CRAWL = """
import json, os, re, signal, subprocess, sys, time, urllib.request
site = os.environ["KILLTEST_SITE_URL"]
def get(path):
    with urllib.request.urlopen(site + path) as answer:
        return answer.read().decode()
BEFORE
page = "/list/0"
while page:
    text = get(page)
    for path in re.findall(r'href="(/product/\\d+)"', text):
        sku = re.search(r'class="sku">([^<]+)<', get(path))[1]
        with open("out.jsonl", "a") as out:
            out.write(json.dumps({"sku": sku}) + "\\n")
        EACH
    following = re.search(r'rel="next"[^>]*href="([^"]+)"|href="([^"]+)"[^>]*rel="next"', text)
    page = following and (following[1] or following[2])
AFTER
"""


def crawler(folder: Path, before: str = "", after: str = "", limits: Limits = FAST, each: str = "pass") -> Subject:
    """A real crawler in `folder` that runs `before` ahead of its crawl, `each` behind a product, `after` at the end."""
    text = CRAWL.replace("BEFORE", textwrap.dedent(before)).replace("EACH", each)
    text = text.replace("AFTER", textwrap.dedent(after))
    return program(folder, text, limits)


def program(folder: Path, text: str, limits: Limits = FAST) -> Subject:
    """Any Python program as a subject."""
    (folder / "crawl.py").write_text(textwrap.dedent(text))
    store = StoreNeeds("jsonl", "out.jsonl", key="sku")
    return Subject("tiny", ("{python}", "crawl.py"), store, limits=limits, site=SMALL, folder=str(folder))
