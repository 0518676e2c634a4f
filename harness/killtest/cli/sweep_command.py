"""`killtest sweep`: one kill at every page request of a small shop."""

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from killtest.campaigns.campaign_folder import CampaignFolder, move_aside
from killtest.campaigns.progress import progress_for
from killtest.cli.run_command import EXIT_CODES, site_changes
from killtest.cli.subject_words import store_options, subject_of
from killtest.plan import campaign, subject
from killtest.plan.each_request import SMALL
from killtest.plan.fault_text import parse
from killtest.plan.subject import label_of
from killtest.sweep import sweep_run, swept
from killtest.sweep.sweep_run import RESULT, Order

_CORES_USED = 2


@click.command("sweep")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SUBJECT] [-- COMMAND…]")
@click.option(
    "--site", "site_words", multiple=True, metavar="KEY=VALUE", help="Change the shop of 3 list pages, 30 products."
)
@store_options
@click.option(
    "--signal",
    "signals",
    multiple=True,
    default=["KILL"],
    show_default=True,
    type=click.Choice(["KILL", "INT", "TERM", "HUP", "QUIT"]),
    help="With what; may be given more than once.",
)
@click.option("--first", metavar="FAULT", help="A fault before: sweep the start that follows it, such as a resume.")
@click.option(
    "--jobs", type=click.IntRange(1), show_default="cores, at most 2", help="Trials side by side; controls run alone."
)
@click.option("--fresh", is_flag=True, help="Start anew; an unfinished sweep is moved aside.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], site_words: tuple[str, ...], **options: Any) -> int:
    """Kill SUBJECT once at every page request while it is held, and once after every response.

    How many requests there are is what the first control made, or with --first the start behind that fault. Killed or
    interrupted, the same command goes on where it was, in results/sweep-SUBJECT; a finished sweep is moved aside. Ends
    with 0 PASS, 1 FAIL, 2 usage, 3 UNKNOWN.
    """
    who = subject_of(words, options)
    subject.check_runnable(who)
    site = SMALL | site_changes(site_words)
    campaign.site_of(who.site, site, "--site")
    path = options["results"] / f"sweep-{label_of(who).replace(':', '.')}"
    # A finished sweep tells of the program as it was then.
    if options["fresh"] or (path / RESULT).exists():
        move_aside(path)
    first = parse(options["first"]).text if options["first"] else None
    jobs = options["jobs"] or min(_CORES_USED, os.cpu_count() or 1)
    order = Order(who, site, tuple(dict.fromkeys(options["signals"])), ["killtest", *sys.argv[1:]], jobs, first)
    folder = CampaignFolder(path)
    try:
        with progress_for(Console(stderr=True)) as watcher:
            found = sweep_run.run(order, folder, watcher)
    finally:
        folder.close()
    if options["as_json"]:
        click.echo(msgspec.json.encode(swept.as_json(found) | {"campaign": str(path)}).decode())
    else:
        click.echo("\n".join([*swept.words(found, label_of(who)), f"      results: {path}/{RESULT}, trials.jsonl"]))
    return EXIT_CODES[found.outcome]
