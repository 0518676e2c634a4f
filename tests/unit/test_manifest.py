"""Manifests, campaigns and command lines: what is read, and what is refused with which words."""

import re
from pathlib import Path

import msgspec
import pytest
from killtest.campaigns import single_run, trial_line
from killtest.campaigns.single_run import Order
from killtest.campaigns.story import Story
from killtest.errors import UsageError
from killtest.plan import campaign, manifest, subject
from killtest.plan.manifest import SiteNeeds
from killtest.plan.schedule import Rule
from killtest.plan.subject import name_of
from killtest_testsite import layout

GOOD = """
name = "mine"
command = ["{python}", "crawl.py", "{site_url}"]
[store]
reader = "jsonl"
path = "out.jsonl"
key = "sku"
[variants.slow]
env = { DELAY = "1" }
limits = { idle_s = 60 }
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "subject.toml"
    path.write_text(text)
    return path


def test_manifest_is_read_with_defaults(tmp_path: Path) -> None:
    who = manifest.load(written(tmp_path, GOOD))
    assert (who.name, who.limits.grace_s, who.site.products, who.folder) == ("mine", 15, 500, str(tmp_path))


def test_variant_changes_only_what_it_names(tmp_path: Path) -> None:
    who = manifest.load(written(tmp_path, GOOD), "slow")
    assert (who.env, who.limits.idle_s, who.limits.total_s, who.variant) == ({"DELAY": "1"}, 60, 120, "slow")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            ("[store]", "[store"),
            "subject.toml: not TOML: Expected ']' at the end of a table declaration (at line 4, column 7)",
        ),
        (("name =", "nam ="), "subject.toml: Object contains unknown field `nam`"),
        (('command = ["{python}", "crawl.py", "{site_url}"]', ""), "missing required field `command`"),
        (('["{python}", "crawl.py", "{site_url}"]', "[]"), "`$.command`"),
        (('"jsonl"', '"parquet"'), "store reader 'parquet' is unknown; built: sqlite, jsonl"),
        (('key = "sku"', ""), "a jsonl store wants `key`"),
        (('path = "out.jsonl"', ""), "a jsonl store wants a `path`"),
        (('"jsonl"', '"postgres"\nquery = "SELECT 1 AS key"'), "a postgres store wants no `path`"),
        (('"jsonl"\npath = "out.jsonl"', '"postgres"'), "a postgres store wants `query`"),
        (('"jsonl"\npath = "out.jsonl"', '"postgres"\nquery = "SELECT 1 AS key"'), 'services = ["postgres"]'),
        (('"out.jsonl"', '"out/**.jsonl"'), "store path 'out/**.jsonl' is no pattern for files: Invalid pattern"),
        (('"out.jsonl"', '"../out.jsonl"'), "must lie below the store folder"),
        (("[store]", 'services = ["mysql"]\n[store]'), "services: mysql; built: valkey, postgres"),
        (("[store]", '[service.valkey]\nappendfsync = "no"\n[store]'), 'without services = ["valkey"]'),
        (("[store]", 'services = ["valkey", "valkey"]\n[store]'), "services: valkey, valkey: each one is named once"),
        (("[store]", 'reload = ["gone.py"]\n[store]'), "there is no such file beside the manifest"),
        (("[store]", 'reload = ["../gone.py"]\n[store]'), "must lie below the manifest's folder"),
        (("[store]", "instances = 0\n[store]"), "instances"),
        (("[store]", '[store]\ngroup = "job"'), "`groups` says how many"),
        (("[store]", "[store]\ngroups = 4"), "`group` names a column"),
        (("[store]", 'folder = "/"\n[store]'), "`folder` is not set in a manifest"),
        (("[store]", "[limits]\nidle_s = -1\n[store]"), "`$.limits.idle_s`"),
        (("[store]", '[done]\nwhen = "idle"\n[store]'), "`$.done.when`"),
        (('"mine"', '"../mine"'), "`$.name`"),
        (('key = "sku"', 'key = "(.+)"\nkey_from = "content"'), "go with the reader files, not jsonl"),
        (('key = "sku"', 'key = "(.+)"\nkey_from = "name"'), "`$.store.key_from`"),
        (('key = "sku"', 'key = "sku"\ndelimiter = ";"'), "`delimiter` goes with the reader csv, not jsonl"),
        (('"jsonl"', '"csv"\ndelimiter = ";;"'), "delimiter = ';;' is not one character that can part fields"),
        (('"jsonl"', '"csv"\ndelimiter = ""'), "delimiter = '' is not one character"),
        (('"jsonl"\npath = "out.jsonl"\nkey = "sku"', '"csv"\npath = "out.csv"'), "a csv store wants `key`"),
        (('"jsonl"\npath = "out.jsonl"\nkey = "sku"', '"json"\npath = "out.json"'), "a json store wants `key`"),
    ],
)
def test_mistake_is_named_with_file_and_place(change: tuple[str, str], complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace(*change, 1))
    with pytest.raises(UsageError) as caught:
        manifest.load(path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "complaint"),
    [
        ('key = "sku"', "key = 'sku' has 0 groups; it wants one: the value"),
        ('key = "(.+)"\nfields = { price = "(" }', "price = '(' is no regular expression: missing )"),
        ('key = "(.+)"\nfields = { key = "(.+)" }', "`key` is no field"),
        ("", "a files store wants `key`, to say a pattern whose group is the natural key"),
    ],
)
def test_mistake_in_the_patterns_of_a_files_store_is_named(patterns: str, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace('"jsonl"', '"files"').replace('key = "sku"', patterns))
    with pytest.raises(UsageError) as caught:
        manifest.load(path)
    assert complaint in str(caught.value)


def test_arguments_are_the_last_words_of_both_commands(tmp_path: Path) -> None:
    text = GOOD.replace("[store]", 'restart = ["sh", "again.sh"]\narguments = ["-v"]\n\n[store]')
    path = written(tmp_path, text + '\n[variants.quiet]\narguments = ["-q", "{site_url}"]\n')
    plain, quiet = manifest.load(path), manifest.load(path, "quiet")
    assert plain.command[-1] == "-v"
    assert plain.restart == ("sh", "again.sh", "-v")
    assert quiet.restart == ("sh", "again.sh", "-q", "{site_url}")
    assert quiet.command == (*plain.command[:-1], "-q", "{site_url}")
    for wrong in ('"-v"', "[1]"):
        with pytest.raises(UsageError, match=r"arguments = .* is no list of words"):
            manifest.load(written(tmp_path, GOOD.replace("[store]", f"arguments = {wrong}\n\n[store]")))


def test_unknown_variant_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no variant 'fast'; it has: slow"):
        manifest.load(written(tmp_path, GOOD), "fast")


def test_unknown_subject_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match=r"unknown subject 'nobody'; there are: append_jsonl, idempotent, idempotent_postgres, naive"
    ):
        subject.find("nobody")


def test_subject_is_found_by_name_folder_and_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert subject.find(str(path)).name == subject.find(str(tmp_path)).name == "mine"
    assert subject.find(f"{tmp_path}:slow").variant == "slow"
    assert subject.find("naive").source == "naive"


def test_words_that_name_files_become_absolute_and_braces_are_filled(tmp_path: Path) -> None:
    (tmp_path / "crawl.py").touch()
    words = subject.command_line(
        ["node", "crawl.py", "{site_url}/list", "{x}", "-"], str(tmp_path), {"site_url": "http://s"}
    )
    assert words == ["node", str(tmp_path / "crawl.py"), "http://s/list", "{x}", "-"]


@pytest.mark.parametrize(
    ("program", "complaint"),
    [("no-such-program", "it is not there"), ("./plain", "it is not executable")],
)
def test_program_that_cannot_be_executed_is_said(program: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    who = manifest.load(written(tmp_path, GOOD.replace("{python}", program)))
    with pytest.raises(UsageError) as caught:
        subject.check_runnable(who)
    assert complaint in str(caught.value)


def test_missing_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    who = manifest.load(written(tmp_path, GOOD.replace("name =", 'extra = "scrapy"\nname =')))
    subject.check_runnable(who)
    monkeypatch.setattr(subject, "_is_installed", lambda _: False)
    with pytest.raises(UsageError, match=r"mine needs scrapy, not installed here: pip install 'killtest\[scrapy\]'"):
        subject.check_runnable(who)


def test_command_line_makes_a_subject() -> None:
    who = subject.from_command(["node", "crawl.js", "{site_url}"], "jsonl:out.jsonl", "sku", None)
    assert (who.name, who.store.path, who.folder, who.source) == ("crawl", "out.jsonl", str(Path.cwd()), None)


@pytest.mark.parametrize("said", ["\\t", "\t"])
def test_table_is_read_back_from_the_words_that_reproduce_it(said: str) -> None:
    who = subject.from_command(["node", "crawl.js"], "csv:out.tsv", "sku", None, delimiter=said)
    assert who.store == manifest.StoreNeeds("csv", "out.tsv", key="sku", delimiter="\t")
    words = trial_line.store_words(who.store)
    assert words == ["--store", "csv:out.tsv", "--key", "sku", "--delimiter", "\\t"]


@pytest.mark.parametrize(
    ("command", "store", "complaint"),
    [
        ([], "jsonl:out", "no command: put it behind --"),
        (["x"], "out.jsonl", "wants READER:PATH"),
        (["x"], "xml:out", "store reader 'xml' is unknown"),
    ],
)
def test_command_line_mistakes_are_said(command: list[str], store: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        subject.from_command(command, store, "sku", None)
    assert complaint in str(caught.value)


# Campaigns


def campaign_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "c.toml"
    path.write_text('name = "c"\nsubjects = ["naive", "idempotent"]\n' + text)
    return path


@pytest.mark.parametrize("name", ["article", "comparison", "jobdir", "mixed", "mtbf", "quick"])
def test_shipped_campaigns_are_sound(name: str) -> None:
    spec = campaign.load(campaign.find(name))
    assert spec.name == name
    subjects = {each: subject.find(each) for each in spec.subjects}
    trials = campaign.plan(spec, subjects)
    assert len({planned.id for planned in trials}) == len(trials)
    controls = trials[: spec.controls * len(subjects)]
    assert {subject.label_of(planned.subject) for planned in controls if planned.is_control} == set(subjects)


def test_article_is_the_articles_protocol() -> None:
    spec = campaign.load(campaign.find("article"))
    faults = [fault for one in campaign.schedules_of(spec) for fault in one.parsed()]
    assert len(faults) == 50
    assert {fault.steps[0].signal for fault in faults} == {"KILL"}
    assert all(fault.trigger.kind == "after" and 0.2 <= fault.trigger.offset_s <= 1.0 for fault in faults)


def test_every_subject_gets_the_same_schedules() -> None:
    spec = campaign.load(campaign.find("article"))
    trials = campaign.plan(spec, {each: subject.find(each) for each in spec.subjects})
    by_subject = [
        [msgspec.json.encode(planned.schedule) for planned in trials if planned.subject.name == name]
        for name in spec.subjects
    ]
    assert by_subject[0] == by_subject[1]


def test_starts_again_are_those_of_the_group_and_of_the_first_control(tmp_path: Path) -> None:
    text = 'subjects = ["mine"]\n[[schedules]]\ngroup = "a"\ntrials = 2\nagain = 3\n[[schedules]]\ngroup = "b"\n'
    path = tmp_path / "c.toml"
    path.write_text(f'schema = 1\nname = "c"\n{text}')
    spec = campaign.load(path)
    planned = campaign.plan(spec, {"mine": manifest.load(written(tmp_path, GOOD))})
    assert [(one.schedule.name, one.is_control, one.again) for one in planned] == [
        ("control-1", True, 1),
        ("control-2", True, 0),
        ("a-1", False, 3),
        ("a-2", False, 3),
        ("b", False, 0),
    ]
    path.write_text(campaign.text_of(spec, "said again"))
    assert campaign.load(path) == spec


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("schema = 9", "campaign of schema 9"),
        ("[site]\nlatency_ms = -1", "latency_ms"),
        ("[site]\ncolour = 1", "unknown field `colour`"),
        ('[[schedules]]\ngroup = "a"\n[[schedules]]\ngroup = "a"', "two schedules are called 'a'"),
        ('[[schedules]]\ngroup = "a"\ntrials = 2\n[[schedules]]\ngroup = "a-1"', "two schedules are called 'a-1'"),
        ('[[schedules]]\ngroup = "control-1"', "two schedules are called 'control-1'"),
        ('[[schedules]]\ngroup = "kill/early"', "`$.schedules[0].group`"),
        ("[site]\nproducts = 3\nlist_pages = 5", "list_pages = 5 with products = 3: some would be empty"),
        ('[[schedules]]\ngroup = "a"\nsubjects = ["other"]', "other not among the campaign's subjects"),
        ('[[schedules]]\ngroup = "a"\nfaults = ["request:1 KLL"]', 'unknown action "KLL"'),
        ('[[schedules]]\ngroup = "a"\nsignals = ["KLL"]', "signals"),
        ('[[schedules]]\ngroup = "a"\nagain = -1', "Expected `int` >= 0 - at `$.schedules[0].again`"),
    ],
)
def test_campaign_mistakes_are_said(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        campaign.load(campaign_file(tmp_path, text))
    assert complaint in str(caught.value)


def test_unknown_campaign_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError,
        match="unknown campaign 'artcle'; there are: article, comparison, jobdir, misbehaviour, mixed, mtbf, quick, ",
    ):
        campaign.find("artcle")


def test_site_of_lays_changes_over_the_manifest() -> None:
    assert campaign.site_of(SiteNeeds(products=30), {"latency_ms": 3}, "x") == SiteNeeds(products=30, latency_ms=3)


# Bumps, which only some paths of a shop can take


@pytest.mark.parametrize("shape", ["pages", "star", "chain", "two_page"])
@pytest.mark.parametrize("kind", ["list", "product", "view", "image", "Product", ""])
@pytest.mark.parametrize("number", ["0", "1", "7", "8", "07", "-1", "1/", "1?x", "", "٣", "9" * 12, "9" * 5000])
def test_shop_shows_a_product_where_the_site_does(shape: layout.Shape, kind: str, number: str) -> None:
    path = f"/{kind}/{number}"
    site = layout.Layout(products=7, list_pages=2, shape=shape)
    assert SiteNeeds(shape, products=7, list_pages=2).shows_product(path) == (site.pictured(path) is not None)


@pytest.mark.parametrize(
    ("shape", "path", "there"),
    [
        ("pages", "/product/8", "it has /product/1 to /product/7, /image/1 to /image/7"),
        ("pages", "/view/1", "it has /product/1 to /product/7, /image/1 to /image/7"),
        ("two_page", "/view/8", "it has /product/1 to /product/7, /view/1 to /view/7, /image/1 to /image/7"),
    ],
)
def test_bump_of_no_product_is_refused_before_anything_starts(
    shape: str, path: str, there: str, tmp_path: Path
) -> None:
    who = manifest.load(written(tmp_path, GOOD))
    fault = f"request:99 bump:/product/7, bump:{path}, KILL"
    site = {"shape": shape, "products": 7, "list_pages": 2}
    complaint = re.escape(f'fault "{fault}": {path} shows no product of this shop; {there}')
    rule = Rule(group="g", faults=(fault,))
    with pytest.raises(UsageError, match=f"c: {complaint}$"):
        campaign.plan(campaign.Spec("c", ("mine",), (rule,), site=site), {"mine": who})
    with pytest.raises(UsageError, match=f"mine: {complaint}$"):
        single_run.run(Order(who, rule, [], "", site), tmp_path / "results", Story(quiet=True))
    assert not (tmp_path / "results").exists()


def test_group_is_held_against_the_shops_of_its_own_subjects(tmp_path: Path) -> None:
    large = manifest.load(written(tmp_path, GOOD))
    small = msgspec.structs.replace(large, name="small", site=SiteNeeds(products=30))
    both = {"mine": large, "small": small}
    rule = Rule(group="g", faults=("request:1 bump:/product/31",), subjects=("mine",))
    spec = campaign.Spec("c", ("mine", "small"), (rule,), controls=0)
    assert [one.subject.name for one in campaign.plan(spec, both)] == ["mine"]
    spec = msgspec.structs.replace(spec, schedules=(msgspec.structs.replace(rule, subjects=()),))
    with pytest.raises(UsageError, match="shows no product"):
        campaign.plan(spec, both)


def test_a_command_is_called_by_its_program_however_long_its_path() -> None:
    assert name_of(["python", f"/{'a' * 90}/{'b' * 90}/crawl.py", "{site_url}"]) == "crawl"
    assert name_of(["python", "-c", "x" * 200]) == "python"
