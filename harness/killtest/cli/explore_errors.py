"""`killtest explore --errors`: calls that fail instead of kills."""

import click
import msgspec
from rich.console import Console

from killtest.campaigns.campaign_folder import CampaignFolder
from killtest.cli.run_command import EXIT_CODES
from killtest.explore import error_run, error_text
from killtest.explore.explore_run import Order, Teller


def run(order: Order, is_every: bool, as_json: bool, folder: CampaignFolder, teller: Teller) -> int:
    """Explore the errors and show what came of them; the exit code."""
    result = error_run.run(order, is_every, folder, teller)
    if as_json:
        click.echo(msgspec.json.encode(error_run.summary(result) | {"evidence": str(folder.path)}).decode())
    else:
        console = Console()
        # A table in a file is not wrapped at the 80 columns of a terminal that is none.
        error_text.show(result, order, console if console.is_terminal else Console(width=120))
        click.echo(f"\nresults: {folder.path}/errors.jsonl, errors.json")
    return EXIT_CODES[result.outcome]
