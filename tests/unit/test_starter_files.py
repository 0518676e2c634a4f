"""The files that init writes are read back as what was meant, whatever stands in them."""

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from killtest.gate.budget import Budget, load
from killtest.plan import manifest
from killtest.plan.manifest import SiteNeeds, StoreNeeds
from killtest.starter import starter_files

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(WORDS, WORDS)
def test_every_text_survives_the_manifest(word: str, query: str) -> None:
    text = starter_files.manifest("x", ("node", word), StoreNeeds("sqlite", "a.db", query=query), SiteNeeds())
    table = tomllib.loads(text)
    assert (table["command"], table["store"]["query"]) == (["node", word], query)


def test_patterns_stand_as_they_are(tmp_path: Path) -> None:
    store = StoreNeeds("files", "*.html", key=r'"(\d+)"', key_from="content", fields={"price": r"(\d+\.\d\d)"})
    text = starter_files.manifest("x", ("node",), store, SiteNeeds(list_pages=3, products=30))
    assert r"""key = '"(\d+)"'""" in text
    (tmp_path / "subject.toml").write_text(text)
    who = manifest.load(tmp_path / "subject.toml")
    assert (who.store, who.site.products) == (store, 30)


def test_delimiter_of_a_table_is_kept(tmp_path: Path) -> None:
    store = StoreNeeds("csv", "out.tsv", key="sku", delimiter="\t")
    (tmp_path / "subject.toml").write_text(starter_files.manifest("x", ("node",), store, SiteNeeds()))
    assert manifest.load(tmp_path / "subject.toml").store == store


def test_budget_and_its_commented_override_are_what_the_gate_reads(tmp_path: Path) -> None:
    text = starter_files.budget("a.b", 33)
    path = tmp_path / "budget.toml"
    path.write_text(text.replace("# [subjects", "[subjects").replace("# requests_over = 33", "requests_over = 33"))
    budgets = load(path)
    assert budgets.default == Budget()
    assert budgets.of("a.b") == Budget(requests_over=33)
