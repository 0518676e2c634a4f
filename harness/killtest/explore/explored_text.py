"""An exploration in words: figures, a map with a cell per durable step, the failing groups, and what can't be seen."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from killtest.explore.exploration import Judged, groups
from killtest.explore.explore_run import Exploration

LIMITS = (
    "Only the subject's own folder is looked at: state in another server (Redis, PostgreSQL) needs true kills there.",
    "Writes through mmap and io_uring are not seen; a recording that they change is not trusted, and it says so.",
    "A write is there whole or not at all; the kernel can also tear one of several pages.",
    "A second crash during the recovery is not explored, and neither is a power cut, which loses more than a kill.",
)
CELL = {"PASS": ("█", "green"), "confirmed": ("█", "red"), "derived": ("█", "yellow"), "false": ("░", "yellow")}
_NAMES = {
    "PASS": "recovers",
    "confirmed": "fails, as a true kill does",
    "derived": "fails, not tried by a true kill",
    "false": "fails as derived, not by a true kill",
}


def mark(one: Judged) -> str:
    """How a point came out, as a key of CELL."""
    if one.outcome == "PASS":
        return "PASS"
    return {True: "confirmed", False: "false", None: "derived"}[one.confirmed]


def show(result: Exploration, name: str, console: Console) -> None:
    """Print it."""
    failing = [one for one in result.judged if one.outcome == "FAIL"]
    console.print(
        f"{result.outcome}  {name}  {len(failing)} of {len(result.judged)} crash points fail; "
        f"{result.states} distinct states, {result.groups} for a restart; at most "
        f"{max(one.requests for one in result.judged)} page requests",
        highlight=False,
        soft_wrap=True,
    )
    console.print()
    for line in cells(result.judged, max(20, console.width - 8)):
        console.print(line, soft_wrap=True)
    shown = {mark(one) for one in result.judged}
    legend = [Text(CELL[key][0], CELL[key][1]) + Text(f" {_NAMES[key]}") for key in CELL if key in shown]
    console.print(Text("   ").join([Text("one cell for each durable step, in order:"), *legend]), soft_wrap=True)
    if failing:
        console.print()
        console.print(table(failing))
    for doubt in result.doubts:
        console.print(f"not trusted: {doubt}", highlight=False, soft_wrap=True)
    for note in (*result.notes, *LIMITS):
        console.print(f"note: {note}", style="dim", highlight=False, soft_wrap=True)
    seconds = ", ".join(f"{part} {value:.1f} s" for part, value in result.seconds.items())
    console.print(f"time: {seconds}", style="dim", highlight=False)


def cells(judged: Sequence[Judged], width: int) -> Iterator[Text]:
    """The map, in lines of `width` cells, each headed by the number of its first step."""
    for start in range(0, len(judged), width):
        line = Text(f"{judged[start].point.k:>6}  ")
        for key, run in groupby(judged[start : start + width], mark):
            line.append(CELL[key][0] * len(list(run)), CELL[key][1])
        yield line


def table(failing: Sequence[Judged]) -> Table:
    """The failing points by call and file, phase and finding, each group with a command that kills there."""
    drawn = Table("kill before", "phase", "what is wrong", "keys", "points", "steps", "confirmed", box=SIMPLE_HEAD)
    drawn.add_column("trigger of the first", no_wrap=True)
    for what, phase, wrong, members in groups(failing):
        confirmed = "yes" if any(one.confirmed for one in members) else "no"
        if all(one.confirmed is None for one in members):
            confirmed = "not tried"
        steps = ranges([one.point.k for one in members])
        keys = sorted({sum(one.findings.values()) for one in members})
        many = f"{keys[0]}" if len(keys) == 1 else f"{keys[0]}-{keys[-1]}"
        first = members[0].point.trigger or "-"
        drawn.add_row(what, phase, wrong, many, str(len(members)), steps, confirmed, first)
    return drawn


def ranges(numbers: Sequence[int], most: int = 4) -> str:
    """Ascending numbers as intervals: 3-7, 9, 12-14 and 5 more."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    words = [f"{low}-{high}" if low != high else f"{low}" for low, high in found]
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")
