"""`killtest bench`: a campaign, resumable."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console

from killtest.campaigns import campaign_run
from killtest.campaigns.campaign_folder import CampaignFolder, move_aside
from killtest.campaigns.progress import progress_for
from killtest.campaigns.trial_line import Line
from killtest.plan import campaign, subject
from killtest.plan.campaign import Spec
from killtest.report.summary import print_tables, write_summary


@click.command("bench")
@click.argument("name", metavar="CAMPAIGN")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the tables."
)
@click.option("--fresh", is_flag=True, help="Start anew; an older run of it is moved aside.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Trials side by side.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout: all trials.")
def command(name: str, results: Path, lang: str, fresh: bool, jobs: int, as_json: bool) -> int:
    """Run every trial of CAMPAIGN: article, comparison, mixed, jobdir, quick, or the path of a campaign file.

    Killed or interrupted, the same command goes on where it was. Ends with 0 once the campaign is
    complete, whatever the verdicts: known bad examples are part of a comparison.
    """
    path = campaign.find(name)
    spec = campaign.load(path)
    subjects = {each: subject.find(each, near=path.parent) for each in spec.subjects}
    for who in subjects.values():
        subject.check_runnable(who)
        campaign.site_of(who.site, spec.site, str(path))
    campaign.plan(spec, subjects)
    if fresh:
        move_aside(results / spec.name)
    folder = CampaignFolder(results / spec.name)
    try:
        folder.settle(path.read_text("utf-8"), spec, ["killtest", *sys.argv[1:]])
        with progress_for(Console(stderr=True)) as watcher:
            lines = campaign_run.run(spec, subjects, folder, watcher, jobs)
        _report(spec, lines, folder.path, lang, as_json)
    finally:
        folder.close()
    return 0


def _report(spec: Spec, lines: list[Line], folder: Path, lang: str, as_json: bool) -> None:
    plan = campaign.names_by_group(spec)
    summary = write_summary(folder, lines, lang, plan)
    if as_json:
        click.echo(msgspec.json.encode({"campaign": spec.name, "trials": lines}).decode())
        return
    print_tables(lines, lang, Console(), plan, folder)
    click.echo(f"\nresults: {summary}, trials.jsonl, figures/")
