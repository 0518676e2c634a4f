"""An exploration in words: figures, a map with a cell per durable step, the failing groups, and what can't be seen."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from killtest import intervals
from killtest.explore.exploration import Judged, groups
from killtest.explore.explore_run import Exploration, Order, reproduce_at

LIMITS = (
    "Only the subject's own folder is looked at: state in another server (Redis, PostgreSQL) needs true kills there.",
    "Writes through mmap and io_uring are not seen; a recording that they change is not trusted, and it says so.",
    "A write is there whole or not at all; the kernel can also tear one of several pages.",
    "A restart comes --clock seconds later by its clock, an hour: what a lease that still holds does is not seen.",
    "File modes and times, TMPDIR and whatever lies outside the store folder are not part of a state.",
    "A second crash during the recovery is not explored, and neither is a power cut, which loses more: --power.",
)
CELL = {
    "PASS": ("█", "green"),
    "confirmed": ("█", "red"),
    "derived": ("█", "yellow"),
    "false": ("░", "yellow"),
    "unknown": ("?", "yellow"),
}
_NAMES = {
    "PASS": "recovers",
    "confirmed": "fails, as a true kill does",
    "derived": "fails, not tried by a true kill",
    "false": "fails as derived, not by a true kill",
    "unknown": "not known: the kill did not strike",
}


def mark(one: Judged) -> str:
    """How a point came out, as a key of CELL."""
    if one.outcome != "FAIL":
        return "PASS" if one.outcome == "PASS" else "unknown"
    return {True: "confirmed", False: "false", None: "derived"}[one.confirmed]


def show(result: Exploration, order: Order, console: Console) -> None:
    """Print it."""
    failing = [one for one in result.judged if one.outcome == "FAIL"]
    say(
        console,
        f"{result.outcome}  {order.subject.name}  {len(failing)} of {len(result.judged)} crash points fail; "
        f"{result.states} distinct states, {result.groups} for a restart; at most "
        f"{max((one.requests for one in result.judged), default=0)} page requests\n",
    )
    for line in cells(result.judged, max(20, console.width - 8)):
        console.print(line, soft_wrap=True)
    shown = {mark(one) for one in result.judged}
    legend = [Text(CELL[key][0], CELL[key][1]) + Text(f" {_NAMES[key]}") for key in CELL if key in shown]
    console.print(Text("   ").join([Text("one cell for each durable step, in order:"), *legend]), soft_wrap=True)
    for words in group_lines(failing, order):
        say(console, words)
    say(console, "")
    for doubt in result.doubts:
        say(console, f"not trusted: {doubt}")
    if result.doubts:
        say(console, "the recording does not explain the disk: each point was tried by a true kill instead")
    for note in (*result.notes, *LIMITS):
        say(console, f"note: {note}", style="dim")
    seconds = ", ".join(f"{part} {value:.1f} s" for part, value in result.seconds.items())
    say(console, f"time: {seconds}", style="dim")


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def group_lines(failing: Sequence[Judged], order: Order) -> Iterator[str]:
    """The failing points by call and file, phase and finding, each group with a command that kills there."""
    for what, phase, wrong, members in groups(failing):
        keys = sorted({sum(one.findings.values()) for one in members})
        many = "" if keys == [0] else f" ({keys[0] if len(keys) == 1 else f'{keys[0]}-{keys[-1]}'} keys)"
        tried = {True: "as a true kill does", False: "a true kill there came out otherwise", None: "not tried"}
        best = next((mark for mark in (True, False) if any(one.confirmed is mark for one in members)), None)
        count = f"{len(members)} point{'s' if len(members) != 1 else ''}"
        yield ""
        yield f"  {wrong}{many}: killed before {what}, {phase}"
        yield f"      {count}: {intervals.words([one.point.k for one in members])}; {tried[best]}"
        shown = next((one for one in members if one.confirmed), members[0]).point
        if shown.trigger is not None:
            yield f"      reproduce: {reproduce_at(shown, order)}"


def cells(judged: Sequence[Judged], width: int) -> Iterator[Text]:
    """The map, in lines of `width` cells, each headed by the number of its first step."""
    for start in range(0, len(judged), width):
        line = Text(f"{judged[start].point.k:>6}  ")
        for key, run in groupby(judged[start : start + width], mark):
            line.append(CELL[key][0] * len(list(run)), CELL[key][1])
        yield line
