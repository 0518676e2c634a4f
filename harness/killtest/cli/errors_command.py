"""`killtest explore --errors`: calls that fail instead of kills."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from killtest.call_errors import error_run, error_text
from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.cli.map_page import map_of
from killtest.cli.run_command import EXIT_CODES
from killtest.errors import UsageError
from killtest.explore.explore_run import Order, Teller

Command = TypeVar("Command", bound=Callable[..., Any])


def errors_options(command: Command) -> Command:
    """Give `explore` the options --errors and --every."""
    every = click.option("--every", is_flag=True, help="With --errors: every call, not three of each kind.")
    errors = click.option("--errors", is_flag=True, help="Have calls fail (ENOSPC, EIO) instead of kills.")
    return errors(every(command))


def check(options: dict[str, Any], refusal: str) -> None:
    """UsageError for options that do not go together, and where steps can't be watched, for which nothing stands in."""
    if options["every"] and not options["errors"]:
        raise UsageError("--every goes with --errors: explore visits every crash point anyway")
    if options["errors"] and options["power"]:
        raise UsageError("--errors and --power are two explorations: give one, then the other")
    stray = "--raw" if options["raw"] else "--confirm" if options["confirm"] is not None else ""
    if options["errors"] and stray:
        raise UsageError(
            f"{stray} does not go with --errors: each point is a crawl of its own, not a derived state; leave it out"
        )
    if options["errors"] and refusal:
        raise UsageError(f"explore --errors needs seccomp user notification (Linux 5.19): {refusal}")


def run(order: Order, options: dict[str, Any], teller: Teller) -> int:
    """Explore the errors and show what came of them; the exit code."""
    folder = CampaignFolder(numbered(options["results"], f"explore-{order.subject.name}"))
    try:
        result = error_run.run(order, options["every"], folder, teller)
        if options["as_json"]:
            click.echo(msgspec.json.encode(error_run.summary(result) | {"evidence": str(folder.path)}).decode())
        else:
            console = Console()
            # A table in a file is not wrapped at the 80 columns of a terminal that is none.
            error_text.show(result, order, console if console.is_terminal else Console(width=120))
            click.echo(f"\nresults: {folder.path}/errors.jsonl, errors.json{map_of(folder.path)}")
    finally:
        folder.close()
    return EXIT_CODES[result.outcome]
