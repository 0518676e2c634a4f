"""`killtest doctor`: what this machine can do, and what to install or allow if not."""

from pathlib import Path

import click
import msgspec

from killtest import __version__, abilities
from killtest.abilities import Ability


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(as_json: bool) -> int:
    """Say which signals, triggers and kinds of isolation this machine can do, and what to install or allow if not.

    Ends with 0 when trials can run here, with 3 when they can't.
    """
    found = abilities.survey(Path())
    works = all(one.works for one in found if one.basic)
    if as_json:
        told = {"killtest": __version__, "works": works, "abilities": msgspec.to_builtins(found)}
        click.echo(msgspec.json.encode(told).decode())
    else:
        click.echo("\n".join([*table(found), "", _summary(found, works)]))
    return 0 if works else 3


def table(found: list[Ability]) -> list[str]:
    """A line for each ability, and below it what to do where it is missing."""
    width = max(len(one.name) for one in found)
    lines = []
    for one in found:
        mark = "yes" if one.works else "NO " if one.basic else "no "
        lines.append(f"{mark}  {one.name:{width}}  {one.detail}")
        if one.advice:
            lines.append(f"     {'':{width}}  -> {one.advice}")
    return lines


def _summary(found: list[Ability], works: bool) -> str:
    if not works:
        return "Trials can't run here: mend what says NO."
    missing = [one.name for one in found if not one.works]
    return "Trials can run here." + (f" They would be better with: {', '.join(missing)}." if missing else "")
