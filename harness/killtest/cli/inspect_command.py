"""`killtest inspect`: what lies in a Scrapy JOBDIR, and what a resume will do with it (docs/inspect.md)."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from rich.console import Console

from killtest.errors import UsageError
from killtest.jobdir import contents
from killtest.jobdir.inspection import LOOKED_FOR, inspect, is_one
from killtest.jobdir.job_dir import JobDir
from killtest.jobdir.queue import FIRST
from killtest.report.table import Table, print_table


@click.command("inspect")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(folder: Path, as_json: bool) -> int:
    """Say what is in DIR, a JOBDIR of Scrapy, what is damaged, and what a resume will do.

    Nothing in it is changed, and nothing in it is run. The spider must not be running. Ends with 0 when a resume goes
    on as after a clean stop, with 1 when something was found that a clean stop does not leave.
    """
    try:
        _check(folder)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from None
    found = inspect(folder)
    if as_json:
        click.echo(msgspec.json.encode({"folder": str(folder), **msgspec.to_builtins(found)}).decode())
    else:
        _print(folder, found)
    return 1 if found.findings else 0


def _check(folder: Path) -> None:
    looked_for = ", ".join(LOOKED_FOR)
    if not folder.is_dir():
        what = "a file" if folder.exists() else "not there"
        raise UsageError(f"{folder} is {what}; give the folder that the spider got as JOBDIR, with {looked_for} in it")
    closed = contents.denied(folder)
    if closed is not None:
        raise UsageError(f"{closed} can't be read: permission denied; inspect it as the user who runs the spider")
    if not is_one(folder):
        raise UsageError(f"{folder} is no JOBDIR: none of {looked_for} is in it; is it the folder above, or below?")


def _print(folder: Path, found: JobDir) -> None:
    console = Console()
    print_table(_files(folder, found), console)
    for title, lines in (
        ("Queued requests", list(_requests(found))),
        ("Findings", [f"{one.name}  {one.path}: {one.words}" for one in found.findings]),
        ("A resume", list(found.resume.words)),
    ):
        console.print(f"\n[bold]{title}[/bold]")
        for line in lines or ["none"]:
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _files(folder: Path, found: JobDir) -> Table:
    rows = [(one.path, one.bytes, one.what, one.holds or "-") for one in found.files]
    caption = "What a queue counts is the number of requests that Scrapy will believe to be in it."
    headings = ("file", "bytes", "what it is", "what it holds")
    return Table("files", str(folder), caption, headings, tuple(rows), "no file")


def _requests(found: JobDir) -> Iterator[str]:
    """The first few of all queues."""
    requests = [one for queue in found.queues for one in queue.first]
    for one in requests[:FIRST]:
        yield f"{one.method} {one.url}  callback {one.callback or 'parse (default)'}, priority {one.priority}"
    more = sum(queue.pending.requests for queue in found.queues) - min(len(requests), FIRST)
    if requests and more > 0:
        yield f"… and {more} more"
