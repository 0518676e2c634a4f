"""`killtest run`: one subject under one schedule, told as a story."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import tomli_w

from killtest import campaign, campaign_run, schedule, subject
from killtest.campaign import Spec
from killtest.campaign_folder import CampaignFolder, stored_spec
from killtest.errors import UsageError
from killtest.fault import parse
from killtest.manifest import SiteNeeds, Subject
from killtest.schedule import Rule, Schedule
from killtest.story import Story

_EXIT_CODES = {"PASS": 0, "FAIL": 1, "UNKNOWN": 3}


@click.command("run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SUBJECT] [-- COMMAND…]")
@click.option("--fault", "faults", multiple=True, metavar="FAULT", help='One per fault, in order: "request:25 KILL".')
@click.option(
    "--schedule", "schedule_file", metavar="FILE[#NAME]", help="A stored schedule.json, or one of a campaign.toml."
)
@click.option(
    "--site", "site_words", multiple=True, metavar="KEY=VALUE", help="Change the shop: latency_ms=3, list_pages=3."
)
@click.option(
    "--store", metavar="READER:PATH", help="Without a manifest: jsonl:out.jsonl, sqlite:crawl.db, files:*.html."
)
@click.option("--key", help="With jsonl: the column that is the natural key; with files: a pattern that catches it.")
@click.option(
    "--key-from", type=click.Choice(["path", "content"]), default="path", help="With files: where --key looks."
)
@click.option("--query", help="With sqlite: a SELECT that gives `key` and the fields to compare.")
@click.option("--controls", default=2, show_default=True, type=click.IntRange(0), help="Fault-free runs judged first.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], faults: tuple[str, ...], schedule_file: str | None, **options: Any) -> int:
    """Run one SUBJECT under a schedule, or without --fault as a control alone.

    SUBJECT is a name (killtest list), NAME:VARIANT, or the path of a folder or subject.toml. Without a manifest:
    killtest run --store jsonl:out.jsonl --key sku -- node crawl.js {site_url}
    """
    who = _subject(words, options)
    subject.check_runnable(who)
    chosen = _schedule(faults, schedule_file)
    site = site_changes(options["site_words"])
    campaign.site_of(who.site, site, "--site")
    # A single control without a schedule is the trial itself.
    controls = options["controls"] if chosen.faults else max(1, options["controls"])
    spec = Spec(
        name=_free_name(options["results"], who), subjects=(who.name,), controls=controls, keep="always", site=site
    )
    if chosen.faults:
        spec = msgspec.structs.replace(spec, schedules=(Rule(group=chosen.name, faults=chosen.faults),))
    folder = CampaignFolder(options["results"] / spec.name)
    try:
        folder.settle(_text_of(spec), spec, ["killtest", *sys.argv[1:]])
        story = Story(quiet=options["as_json"])
        lines = campaign_run.run(spec, {who.name: who}, folder, story)
    finally:
        folder.close()
    verdict = lines[-1]
    if options["as_json"]:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        story.close(verdict, folder.path)
    return _EXIT_CODES[verdict["outcome"]]


def _subject(words: tuple[str, ...], options: dict[str, Any]) -> Subject:
    if options["store"]:
        return subject.from_command(words, options["store"], options["key"], options["query"], options["key_from"])
    if options["key"] or options["query"]:
        raise UsageError("--key and --query go with --store; a subject with a manifest says both there")
    if len(words) != 1:
        raise UsageError("name one subject (killtest list), or give --store READER:PATH and a command behind --")
    return subject.find(words[0])


def _schedule(faults: tuple[str, ...], schedule_file: str | None) -> Schedule:
    if faults and schedule_file:
        raise UsageError("--fault and --schedule exclude each other")
    if schedule_file is None:
        return Schedule(_name_of(faults), tuple(parse(text).text for text in faults))
    path, _, name = schedule_file.partition("#")
    if not name:
        return schedule.read(Path(path))
    found = [one for one in stored_spec(Path(path)).drawn if one.name == name]
    if not found:
        raise UsageError(f"{path}: no schedule {name!r} was drawn there")
    return found[0]


def _name_of(faults: tuple[str, ...]) -> str:
    if not faults:
        return "control"
    words = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in faults[0]).strip("-")
    words = words[:60].rstrip("-")
    return words if len(faults) == 1 else f"{words}-and-{len(faults) - 1}-more"


def site_changes(words: tuple[str, ...]) -> dict[str, Any]:
    """`KEY=VALUE` words as a table; UsageError for an unknown key or a value of the wrong type."""
    changes: dict[str, Any] = {}
    types = {field.name: field.type for field in msgspec.structs.fields(SiteNeeds)}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in types:
            raise UsageError(f"--site {word!r}: wants KEY=VALUE with KEY one of {', '.join(types)}")
        try:
            changes[key] = msgspec.convert(value, types[key], strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"--site {word!r}: {error}") from None
    return changes


def _free_name(results: Path, who: Subject) -> str:
    taken = [path.name.rpartition("-")[2] for path in results.glob(f"run-{who.name}-[0-9]*")]
    number = 1 + max((int(text) for text in taken if text.isdigit()), default=0)
    try:
        results.mkdir(parents=True, exist_ok=True)
        while True:
            name = f"run-{who.name}-{number:03d}"
            try:
                (results / name).mkdir()  # claims the number, in case another run looks for one right now
                return name
            except FileExistsError:
                number += 1
    except OSError as error:
        raise UsageError(f"--results {results}: {error.strerror or error}") from None


def _text_of(spec: Spec) -> str:
    table: dict[str, Any] = {"schema": spec.schema, "name": spec.name, "subjects": list(spec.subjects)}
    table |= {"controls": spec.controls, "again": spec.again, "keep": spec.keep, "site": spec.site}
    table["schedules"] = [{"group": rule.group, "faults": list(rule.faults)} for rule in spec.schedules]
    return "# What `killtest run` was asked for.\n" + tomli_w.dumps(table)
