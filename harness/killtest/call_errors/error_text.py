"""An exploration of errors in words: a table by error, the failing groups, and what can't be seen."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from killtest import intervals
from killtest.call_errors.error_run import ErrorExploration, exits, groups, reproduce_at, rows
from killtest.explore.explore_run import Order

LIMITS = (
    "A failing call does nothing at all: a disk that fills in the middle of a write takes part of it first.",
    "Calls on the files below the store folder alone; not reads, closing, mmap and io_uring, which can fail as well.",
    "A failed sync has synced nothing and the next one succeeds; what a kernel then drops from its cache is not shown.",
    "Space is back at the next start. The cause counts as named where stdout or stderr hold it, not a log file.",
    "A crawler that went on to exit 0 is not started again: whether another start would mend it is not seen.",
    "One error a crawl; errors of the starts behind it are not explored.",
)
_COLUMNS = {
    "named": "named",
    "not_named": "unnamed",
    "went_on": "went on",
    "given_up": "given up",
    "not_reached": "missed",
}
_LEGEND = (
    "named: it stopped and its output names the cause; unnamed: it stopped and the output does not; went on: to its "
    "end and exit 0; given up: it hung or took too long; missed: the call was not reached; recovered: the rows are "
    "right in the end; exits: of the start whose call failed"
)


def show(result: ErrorExploration, order: Order, console: Console) -> None:
    """Print it."""
    failing = sum(one.outcome == "FAIL" for one in result.judged)
    _say(
        console,
        f"{result.outcome}  {order.subject.name}  {failing} of {len(result.judged)} error points fail; "
        f"{result.possible} are possible at {result.steps} durable steps; at most "
        f"{max((one.requests for one in result.judged), default=0)} page requests\n",
    )
    console.print(table(result))
    _say(console, _LEGEND, style="dim")
    for words in group_lines(result, order):
        _say(console, words)
    _say(console, "")
    for note in (*result.notes, *LIMITS):
        _say(console, f"note: {note}", style="dim")
    seconds = ", ".join(f"{part} {value:.1f} s" for part, value in result.seconds.items())
    _say(console, f"time: {seconds}", style="dim")


def table(result: ErrorExploration) -> Table:
    """A row for each error, and how often what came of it."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("error", "lasts"):
        shown.add_column(name, no_wrap=True)
    for name in ("points", *_COLUMNS.values(), "recovered", "fail"):
        shown.add_column(name, justify="right")
    shown.add_column("exits")
    for (errno, lasts), members in rows(result.judged).items():
        reacted = [str(sum(one.reaction == key for one in members)) for key in _COLUMNS]
        recovered = str(sum(one.recovered for one in members))
        failing = str(sum(one.outcome == "FAIL" for one in members))
        codes = ", ".join(f"{code} ×{count}" for code, count in exits(members).items())
        shown.add_row(errno, lasts, str(len(members)), *reacted, recovered, failing, codes)
    return shown


def group_lines(result: ErrorExploration, order: Order) -> Iterator[str]:
    """The failing points by call, file and phase, and what is wrong, each group with a command that shows it."""
    for what, wrong, members in groups(result.judged):
        kinds = ", ".join(dict.fromkeys(" ".join(one.point.row) for one in members))
        count = f"{len(members)} point{'s' if len(members) != 1 else ''}"
        steps = intervals.words(sorted({one.point.step.k for one in members}))
        yield ""
        yield f"  {wrong}: {kinds} at {what}"
        yield f"      {count}, at the steps {steps}"
        yield f"      reproduce: {reproduce_at(members[0].point, order)}"


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
