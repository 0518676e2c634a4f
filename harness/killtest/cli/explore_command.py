"""`killtest explore`: every durable step of a crawler."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.campaigns.campaign_run import Watcher
from killtest.campaigns.progress import progress_for
from killtest.cli import errors_command, power_command, sweep_command
from killtest.cli.map_page import map_of
from killtest.cli.run_command import EXIT_CODES, site_changes
from killtest.cli.subject_words import store_options, subject_of
from killtest.errors import UsageError
from killtest.explore import explore_run, explored_text
from killtest.explore.explore_run import Exploration, Order
from killtest.plan import subject
from killtest.plan.each_request import SMALL
from killtest.report.crash_map import crash_map
from killtest.report.figure import image
from killtest.trace import seccomp


@click.command("explore")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SUBJECT] [-- COMMAND…]")
@click.option(
    "--site",
    "site_words",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the shop (3 lists × 10 products).",
)
@store_options
@click.option("--raw", is_flag=True, help="Keep states apart that are the same for SQLite.")
@click.option(
    "--clock",
    default=3600.0,
    show_default=True,
    type=click.FloatRange(-1e9, 1e9),
    help="Seconds that each start's clock is ahead of the one before: leases have lapsed. Negative: set back.",
)
@click.option("--confirm", type=click.IntRange(0), help="True kills at the most (one for each failing state).")
@errors_command.errors_options
@power_command.power_options
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Crawls side by side.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], site_words: tuple[str, ...], **options: Any) -> int:
    """Visit every crash point of SUBJECT: the moment before each step that changes its store.

    One crawl is recorded; the state that a kill would leave at each boundary is derived from it; the crawler is
    started on every distinct one and judged. What fails is confirmed by a true kill at that step. Where system calls
    can't be watched, it does what `killtest sweep` does instead, and says so.
    """
    who = subject_of(words, options)
    subject.check_runnable(who)
    explore_run.check_explorable(who)
    if math.isnan(options["clock"]):
        raise UsageError("--clock nan: how many seconds ahead is each start?")
    refusal = seccomp.refusal()
    errors_command.check(options, refusal)
    power_command.check(options, refusal)
    if refusal:
        return _sweep_instead(refusal, words, site_words, options)
    order = Order(
        subject=who,
        site=SMALL | site_changes(site_words),
        argv=["killtest", *sys.argv[1:]],
        jobs=options["jobs"],
        raw=options["raw"],
        clock_s=options["clock"],
        confirm=options["confirm"],
    )
    told = Told(Console(stderr=True, quiet=options["as_json"]))
    if options["power"] or options["errors"]:
        visit = power_command.run if options["power"] else errors_command.run
        return visit(order, options, told)
    folder = CampaignFolder(numbered(options["results"], f"explore-{who.name}"))
    try:
        result = explore_run.run(order, folder, told)
        if options["as_json"]:
            click.echo(msgspec.json.encode(explore_run.summary(result) | {"evidence": str(folder.path)}).decode())
        else:
            explored_text.show(result, order, Console())
            drawn = _draw(result, who.name, folder.path)
            click.echo(f"\nresults: {folder.path}/points.jsonl, explored.json, trials.jsonl{drawn}")
    finally:
        folder.close()
    return EXIT_CODES[result.outcome]


def _sweep_instead(refusal: str, words: tuple[str, ...], site_words: tuple[str, ...], options: dict[str, Any]) -> int:
    """Kill at every request, whose states are those between requests; what lies between two steps is not seen."""
    click.echo(
        f"explore needs seccomp user notification (Linux 5.19): {refusal}. Instead each request is visited once, "
        "held and after its response, by true kills; what a kill between two system calls leaves is not seen.",
        err=True,
    )
    ours = ("raw", "clock", "confirm", "errors", "every", "power", "proof")
    own = {name: value for name, value in options.items() if name not in ours}
    sweep = sweep_command.command.callback
    assert sweep is not None
    code: int = sweep(words=words, site_words=site_words, **own, signals=("KILL",), first=None, fresh=False)
    return code


def _draw(result: Exploration, name: str, folder: Path) -> str:
    """Write the map as a figure and as a page; their names, or nothing where the packages for it are missing."""
    if subject.missing_of_extra("report"):
        return ""
    failing = sum(one.outcome == "FAIL" for one in result.judged)
    title = f"{name}: a kill before each of {len(result.judged)} durable steps; {failing} fail"
    drawing = crash_map([explored_text.mark(one) for one in result.judged], title)
    (folder / "map.svg").write_bytes(image(drawing, "svg"))
    return f", map.svg{map_of(folder, result.lines)}"


class Told:
    """Bars on a terminal, a line for each part elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, words: str, total: int) -> Iterator[Callable[[], None]]:
        """A part begins."""
        if not self._console.is_terminal:
            self._console.print(f"{words} ({total})" if total > 1 else words, highlight=False)
            yield _nothing
            return
        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn(words), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(words, total=total)
            yield lambda: progress.advance(task)

    def campaign(self) -> AbstractContextManager[Watcher]:
        """Watch the true kills."""
        return progress_for(self._console)


def _nothing() -> None:
    """Where no bar is drawn."""
