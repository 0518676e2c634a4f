"""`killtest explore --power`: what power cuts leave, by models and on a real disk."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.cli.map_page import map_of
from killtest.cli.run_command import EXIT_CODES
from killtest.errors import UsageError
from killtest.explore.explore_run import Order, Teller
from killtest.power import power_run, power_text

Command = TypeVar("Command", bound=Callable[..., Any])
_PROOF_POINTS = 5


def power_options(command: Command) -> Command:
    """Give `explore` the options --power and --power-proof."""
    proof = click.option(
        "--power-proof",
        "proof",
        is_flag=False,
        flag_value=_PROOF_POINTS,
        type=click.IntRange(1),
        metavar="[N]",
        help=f"With --power, as root: cut N ({_PROOF_POINTS}) moments off on a real ext4 as well.",
    )
    power = click.option("--power", is_flag=True, help="What power cuts may leave instead of kills, by several models.")
    return power(proof(command))


def check(options: dict[str, Any], refusal: str) -> None:
    """UsageError for options that do not go together, and where steps can't be watched, for which nothing stands in."""
    if options["proof"] and not options["power"]:
        raise UsageError("--power-proof confirms what --power derives: give both")
    if options["power"] and options["confirm"] is not None:
        raise UsageError("--confirm says how many kills are tried; a power cut is tried by --power-proof N")
    if options["power"] and refusal:
        raise UsageError(
            f"--power derives states from a recording, which needs seccomp user notification (Linux 5.19): {refusal}; "
            "killtest doctor says what this machine allows"
        )


def run(order: Order, options: dict[str, Any], teller: Teller) -> int:
    """Explore and report; the exit code: 1 when a state fails, 3 when the recording explains nothing."""
    folder = CampaignFolder(numbered(options["results"], f"explore-{order.subject.name}"))
    try:
        result = power_run.run(order, folder, teller, options["proof"])
        if options["as_json"]:
            click.echo(msgspec.json.encode(power_run.summary(result) | {"evidence": str(folder.path)}).decode())
        else:
            power_text.show(result, order, Console())
            click.echo(f"\nresults: {folder.path}/points_power.jsonl, explored.json{map_of(folder.path)}")
    finally:
        folder.close()
    return EXIT_CODES[result.outcome]
