"""`killtest report`: tables and figures of a campaign, again, from its ledger."""

from pathlib import Path

import click
from rich.console import Console

from killtest.campaigns import ledger
from killtest.campaigns.campaign_folder import stored_spec
from killtest.plan.campaign import names_by_group
from killtest.report.frame import plan_by_label
from killtest.report.pages.campaign_pages import write_pages
from killtest.report.summary import print_tables, write_summary


@click.command("report")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the tables."
)
def command(campaign: Path, lang: str) -> int:
    """Write summary.md, the CSV tables, the figures and the pages of CAMPAIGN, a folder of results; print the tables.

    index.html shows the whole campaign in a browser, without a network; each trial that has kept its evidence has a
    page of its own in trials/, an exploration a map.html.
    """
    lines = ledger.read(campaign / "trials.jsonl")
    plan = plan_by_label(names_by_group(stored_spec(campaign)), lines)
    write_summary(campaign, lines, lang, plan)
    index = write_pages(campaign, lines, plan)
    print_tables(lines, lang, Console(), plan, campaign)
    click.echo(f"\npage: {index}")
    return 0
