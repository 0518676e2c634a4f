"""`killtest run`: one subject under one schedule, told as a story."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from killtest.campaigns import single_run
from killtest.campaigns.campaign_folder import stored_spec
from killtest.campaigns.single_run import Order, rule_of, schedule_of
from killtest.campaigns.story import Story
from killtest.cli.subject_words import store_options, subject_of
from killtest.errors import UsageError
from killtest.plan import schedule
from killtest.plan.manifest import SiteNeeds
from killtest.plan.schedule import Schedule

EXIT_CODES = {"PASS": 0, "FAIL": 1, "UNKNOWN": 3}


@click.command("run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SUBJECT] [-- COMMAND…]")
@click.option("--fault", "faults", multiple=True, metavar="FAULT", help='One per fault, in order: "request:25 KILL".')
@click.option(
    "--schedule", "schedule_file", metavar="FILE[#NAME]", help="A stored schedule.json, or one of a campaign.toml."
)
@click.option(
    "--site", "site_words", multiple=True, metavar="KEY=VALUE", help="Change the shop: latency_ms=3, list_pages=3."
)
@click.option("--total-s", type=click.FloatRange(min=0, min_open=True), help="How long a trial may last at the most.")
@store_options
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
    who = subject_of(words, options)
    order = Order(
        subject=who,
        rule=rule_of(_schedule(faults, schedule_file)),
        argv=["killtest", *sys.argv[1:]],
        heading="What `killtest run` was asked for.",
        site=site_changes(options["site_words"]),
        controls=options["controls"],
        total_s=options["total_s"],
    )
    story = Story(quiet=options["as_json"])
    verdict, folder = single_run.run(order, options["results"], story)
    if options["as_json"]:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        story.close(verdict, folder)
    return EXIT_CODES[verdict["outcome"]]


def _schedule(faults: tuple[str, ...], schedule_file: str | None) -> Schedule:
    if faults and schedule_file:
        raise UsageError("--fault and --schedule exclude each other")
    if schedule_file is None:
        return schedule_of(faults)
    path, _, name = schedule_file.partition("#")
    if not name:
        return schedule.read(Path(path))
    found = [one for one in stored_spec(Path(path)).drawn if one.name == name]
    if not found:
        raise UsageError(f"{path}: no schedule {name!r} was drawn there")
    return found[0]


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
