"""`killtest zoo`: whether killtest finds each planted bug, exactly, and nothing in its sound twin."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console

from killtest.report.table import print_table
from killtest.zoo import animal, zoo_run, zoo_table
from killtest.zoo.zoo_run import Order, Visit


@click.command("zoo")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--runs", default=1, show_default=True, type=click.IntRange(1), help="Trials of each program.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Animals side by side.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where evidence goes."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout: all animals and their trials.")
def command(names: tuple[str, ...], runs: int, jobs: int, results: Path, as_json: bool) -> int:
    """Run the bug zoo: crawlers with one planted bug each and their sound twins (docs/zoo.md).

    NAME is a kind or the path of a folder; without one, all of them. Ends with 0 when every program came
    out exactly as its expected.toml says, in all runs, and with 1 when any did not; its evidence is kept.
    """
    animals = animal.find_all(names)
    count = _Count(len(animals))
    visits = zoo_run.run(animals, Order(runs, jobs, ["killtest", *sys.argv[1:]]), results, count.told)
    if as_json:
        click.echo(msgspec.json.encode(zoo_table.as_json(visits)).decode())
    else:
        print_table(zoo_table.table(visits, runs), Console())
        for line in (line for visit in visits for line in zoo_table.differing(visit)):
            click.echo(line)
    return 0 if all(visit.agrees for visit in visits) else 1


class _Count:
    """Says on stderr how far it is."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def told(self, visit: Visit) -> None:
        """One line for an animal that is done."""
        self._done += 1
        words = "as expected" if visit.agrees else "NOT as expected"
        click.echo(f"[{self._done}/{self._total}] {visit.animal.kind}: {words}", err=True)
