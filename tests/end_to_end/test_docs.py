"""The documents say what the program does."""

import re
import shlex
from pathlib import Path

import click
import pytest
from killtest.cli import reference
from killtest.cli.group import group
from killtest.gate import budget
from killtest.plan import campaign, manifest, subject

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(page: Path) -> list[list[str]]:
    """The `killtest …` commands of a page, indented, in fences or in backquotes."""
    text = page.read_text("utf-8")
    fenced = "\n".join(re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    found = re.findall(r"^(?:\$ )?(killtest [a-z].*?)$", fenced, re.MULTILINE)
    found += re.findall(r"^    (?:\$ )?(killtest [a-z].*?)$", text, re.MULTILINE)
    found += re.findall(r"`(killtest [a-z][^`]*)`", text)
    return [shlex.split(line.replace("…", ""), comments=True) for line in found]


def test_cli_reference_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == reference.text(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_exists_with_its_options(page: Path) -> None:
    for words in commands(page):
        context = click.Context(group)
        command = group.get_command(context, words[1])
        assert command is not None, f"{page.name}: {words}"
        known = {name for option in command.params for name in option.opts} | {"--help"}
        own = words[2 : words.index("--")] if "--" in words else words[2:]
        assert {word for word in own if word.startswith("--")} <= known, f"{page.name}: {words}"


def test_the_manifest_page_shows_a_manifest_that_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "manifest.md").read_text("utf-8")
    shown = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    (tmp_path / "subject.toml").write_text(shown[1], "utf-8")
    (tmp_path / "spiders").mkdir()
    (tmp_path / "spiders" / "shop.py").touch()
    who = manifest.load(tmp_path / "subject.toml", "short_lease")
    assert who.env == {"LEASE_SECONDS": "0.5"}
    fields = set(manifest.Subject.__struct_fields__) - {"variant", "folder", "source", "done"}
    assert {field for field in fields if not re.search(rf"^\[?{field}\b", shown[1], re.MULTILINE)} == set()


def test_the_manifest_page_shows_a_files_store_that_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "manifest.md").read_text("utf-8")
    shown = re.search(r"```toml\n(\[store\].*?)```", text, re.DOTALL)
    assert shown is not None
    (tmp_path / "subject.toml").write_text('name = "x"\ncommand = ["x"]\n' + shown[1], "utf-8")
    store = manifest.load(tmp_path / "subject.toml").store
    page = '<h1 class="title">A</h1><span class="sku">SKU-00007</span><span class="price">1.50</span>'
    caught = {name: re.findall(pattern, page) for name, pattern in {"key": store.key or "", **store.fields}.items()}
    assert caught == {"key": ["SKU-00007"], "price": ["1.50"], "title": ["A"]}


def test_the_campaign_page_shows_a_campaign_that_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "campaigns.md").read_text("utf-8")
    shown = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    (tmp_path / "c.toml").write_text(shown[1], "utf-8")
    assert len(campaign.schedules_of(campaign.load(tmp_path / "c.toml"))) == 6


def test_the_gate_page_shows_the_budget_that_holds_without_a_file(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "gate.md").read_text("utf-8")
    shown = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    (tmp_path / "budget.toml").write_text(shown[1], "utf-8")
    budgets = budget.load(tmp_path / "budget.toml")
    assert budgets.default == budget.Budget()
    assert {
        name for name in budget.Budget.__struct_fields__ if not re.search(rf"^{name} =", shown[1], re.MULTILINE)
    } == set()
    assert budgets.of("naive").duplicated == 600


def test_every_make_target_on_a_page_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:^    |`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
        assert set(named) <= targets, page.name


def test_links_lead_to_files() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_reference_subject_has_a_title_and_says_what_to_expect() -> None:
    for name in subject.names():
        who = subject.find(name)
        assert who.title
        assert who.expect in ("PASS", "FAIL")


def test_the_durable_page_shows_the_add_on_as_it_is_and_counts_its_lines() -> None:
    text = (ROOT / "docs" / "durable-scrapy.md").read_text("utf-8")
    source = (ROOT / "crawlers" / "scrapy_durable" / "durable.py").read_text("utf-8")
    assert f"```python\n{source}```" in text
    undocumented = re.sub(r'^ *""".*"""$', "", source, flags=re.MULTILINE)
    lines = [line for line in undocumented.splitlines() if line.strip()]
    assert f"\n{len(lines)} lines, of those that are neither blank nor a docstring" in text
    assert f"({len(source.splitlines())} with them)" in text
    assert len(lines) < 60
