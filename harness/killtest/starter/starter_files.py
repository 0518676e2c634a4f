"""The files that `killtest init` writes: a manifest, a budget and a CI snippet, each with comments."""

from collections.abc import Mapping
from typing import Any

import tomli_w

from killtest.plan.manifest import SiteNeeds, StoreNeeds

MANIFEST, BUDGET, WORKFLOW = "subject.toml", "budget.toml", "killtest-ci.yml"

_MANIFEST = """\
# What killtest needs to know of this crawler. Everything that can stand here: docs/manifest.md.
name = {name}
command = {command}
# restart = [...]            # when a restart needs another command

# [limits]
# idle_s = 10                # no request and no CPU for so long: hung
# total_s = 120              # longest trial

[site]                       # the shop it was tried on; without this table: 25 list pages, 500 products
list_pages = {list_pages}
products = {products}

[store]
{store}"""

_BUDGET = """\
# How much may go wrong in a trial before the gate fails. Findings count keys, orphans processes; unknown counts
# trials in which killtest itself failed; requests_over is k in: requests at most minimum + kills struck + k.
[default]
{limits}
# requests_over: a crawler that starts again at page one repeats what it had fetched. Allow what you can bear.

# Another limit for one crawler, by its name:
# [subjects.{name}]
# requests_over = {requests}
"""
_LIMITS = (
    "lost", "missed", "duplicated", "corrupted", "unexpected", "vanished", "orphans", "unknown", "requests_over",
)  # fmt: skip

_WORKFLOW = """\
# Crash safety as a check of every change, for GitHub Actions: put this file at .github/workflows/killtest.yml
# (elsewhere: take over the last three commands). {manifest} and {budget} are expected at the top of the repository.
name: killtest
on: [push, pull_request]
permissions:
  contents: read
jobs:
  killtest:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      # Install here what the crawler itself needs.
      - run: pip install killtest
      # Lets every trial have a network of its own; without it trials run on free ports.
      - run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 || true
      - run: killtest gate ./{manifest} --budget {budget}
"""


def manifest(name: str, command: tuple[str, ...], store: StoreNeeds, site: SiteNeeds) -> str:
    """The text of subject.toml."""
    words = "[" + ", ".join(map(_quoted, command)) + "]"
    values = {"name": _quoted(name), "command": words, "store": _store(store)}
    return _MANIFEST.format(list_pages=site.list_pages, products=site.products, **values)


def budget(name: str, requests: int) -> str:
    """The text of budget.toml; `requests` is what the undisturbed crawl made."""
    width = max(map(len, _LIMITS))
    return _BUDGET.format(name=_quoted(name), requests=requests, limits="\n".join(f"{k:{width}} = 0" for k in _LIMITS))


def workflow() -> str:
    """The text of the CI snippet."""
    return _WORKFLOW.format(manifest=MANIFEST, budget=BUDGET)


def _store(store: StoreNeeds) -> str:
    lines = {"reader": store.reader, "path": store.path, "query": store.query, "key": store.key}
    if store.key_from != "path":
        lines["key_from"] = store.key_from
    if store.delimiter != ",":
        lines["delimiter"] = store.delimiter
    text = _lines({name: value for name, value in lines.items() if value is not None})
    return text + (f"\n[store.fields]\n{_lines(store.fields)}" if store.fields else "")


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in values.items())


def _quoted(text: str) -> str:
    """A TOML string: literal where it holds quotes or backslashes and can be, so that a pattern reads as it is."""
    if ("\\" in text or '"' in text) and "'" not in text and text.isprintable():
        return f"'{text}'"
    return tomli_w.dumps({"x": text}).removeprefix("x = ").rstrip("\n")
