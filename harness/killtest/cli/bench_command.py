"""`killtest bench`: a campaign, resumable."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder, move_aside
from killtest.campaigns.progress import progress_for
from killtest.campaigns.trial_line import Line
from killtest.errors import UsageError
from killtest.plan import campaign, mean_time, subject
from killtest.plan.campaign import Spec
from killtest.report.frame import plan_by_label
from killtest.report.pages.campaign_pages import write_pages
from killtest.report.summary import print_tables, write_summary


@click.command("bench")
@click.argument("words", nargs=-1, metavar="CAMPAIGN | --mtbf MEANS [SUBJECT]…")
@click.option("--mtbf", metavar="MEANS", help="Kills at random, on average so many seconds apart: 0.5,1,2,5.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the tables."
)
@click.option("--fresh", is_flag=True, help="Start anew; an older run of it is moved aside.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Trials side by side.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout: all trials.")
def command(words: tuple[str, ...], mtbf: str | None, results: Path, **options: Any) -> int:
    """Run every trial of CAMPAIGN: a name (`killtest list` tells them), or the path of a campaign file.

    With --mtbf the words are subjects: at which mean time between kills does each never finish?

    Killed or interrupted, the same command goes on where it was. Ends with 0 once the campaign is
    complete, whatever the verdicts: known bad examples are part of a comparison.
    """
    spec, text, near = _asked(words, mtbf)
    subjects = {each: subject.find(each, near=near) for each in spec.subjects}
    for who in subjects.values():
        subject.check_runnable(who)
        campaign.site_of(who.site, spec.site, spec.name)
    campaign.plan(spec, subjects)
    if options["fresh"]:
        move_aside(results / spec.name)
    folder = CampaignFolder(results / spec.name)
    try:
        folder.settle(text, spec, ["killtest", *sys.argv[1:]])
        with progress_for(Console(stderr=True)) as watcher:
            lines = campaign_run.run(spec, subjects, folder, watcher, options["jobs"])
        _report(spec, lines, folder.path, options["lang"], options["as_json"])
    finally:
        folder.close()
    return 0


def _asked(words: tuple[str, ...], mtbf: str | None) -> tuple[Spec, str, Path]:
    """The campaign that was asked for, its text, and the folder that its subjects' paths count from."""
    if mtbf is not None:
        spec = mean_time.spec_for(mean_time.means_of(mtbf), words)
        return spec, campaign.text_of(spec, "What `killtest bench --mtbf` was asked for."), Path()
    if len(words) != 1:
        raise UsageError("name one campaign, or give --mtbf MEANS and the subjects")
    path = campaign.find(words[0])
    return campaign.load(path), path.read_text("utf-8"), path.parent


def _report(spec: Spec, lines: list[Line], folder: Path, lang: str, as_json: bool) -> None:
    plan = plan_by_label(campaign.names_by_group(spec), lines)
    summary = write_summary(folder, lines, lang, plan)
    write_pages(folder, lines, plan)
    if as_json:
        click.echo(msgspec.json.encode({"campaign": spec.name, "trials": lines}).decode())
        return
    print_tables(lines, lang, Console(), plan, folder)
    click.echo(f"\nresults: {summary}, trials.jsonl, figures/, index.html")
