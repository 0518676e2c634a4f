"""What power cuts do to a crawler, in words: a table of the models, a map of each, what exit 0 is worth."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from killtest import intervals
from killtest.explore import explored_text
from killtest.explore.exploration import Judged, groups
from killtest.explore.explore_run import Order
from killtest.explore.explored_text import say
from killtest.plan.manifest import Subject
from killtest.power import power_proof
from killtest.power.power_model import AFTER_SECONDS, KILL, MODELS
from killtest.power.power_run import PowerExploration
from killtest.power.power_verdict import AfterExit, Tally

LIMITS = (
    "These are states that models of file systems allow, none was observed; as root, --power-proof N tries some.",
    "Not modelled: bytes of one write, or writes of one file, that reach the disk in another order than they came.",
    "Not modelled: a disk that loses what it was told to flush, or what lay near it; a damaged journal of ext4's own.",
    "Not modelled: bytes that the system writes out by itself, unless all of them or those of one file.",
    "Not modelled: ext4's flush at the closing of a file that was cut to nothing; it saves more than is said here.",
    "ext4: bytes that are on their way when a file takes another's name are taken for arrived; names: for lost.",
    "O_SYNC, O_DSYNC and sync(2) are not seen: what they save is taken for lost.",
    "Only the store folder is looked at; its own name, and other servers, are taken for safe.",
    "A restart comes an hour later by its clock: what a lease or lock that still holds does is not seen (--clock 0).",
    "A second cut during the recovery is not explored.",
)
_GROUPS = 4
_RANK = ("PASS", "UNKNOWN", "FAIL")


def show(result: PowerExploration, order: Order, console: Console) -> None:
    """Print it."""
    if result.doubts:
        _distrust(result, _name(order.subject), console)
        return
    say(console, f"{headline(result, order.subject)}\n")
    console.print(_table(result), soft_wrap=True)
    for line in (*_progress(result.tallies), "", *_exits(result.exits)):
        say(console, line)
    for model in MODELS:
        _map(result, model, console)
    for line in power_proof.lines(result.proof):
        say(console, line)
    say(console, "")
    rules = (f"model {model}: {rule}" for model, rule in MODELS.items())
    seconds = ", ".join(f"{part} {value:.1f} s" for part, value in result.seconds.items())
    for line in (*rules, *(f"note: {note}" for note in (*result.notes, *LIMITS)), f"time: {seconds}"):
        say(console, line, style="dim")


def _distrust(result: PowerExploration, name: str, console: Console) -> None:
    say(
        console,
        f"UNKNOWN  {name}  the recording does not explain the disk, so nothing can be derived from it: what a power "
        "cut leaves is not known (killtest explore without --power tries each point by a true kill)\n",
    )
    for doubt in result.doubts:
        say(console, f"not trusted: {doubt}")


def headline(result: PowerExploration, who: Subject) -> str:
    """The outcome in a line."""
    own = [one for one in result.tallies if one.model != KILL]
    failing, points = sum(one.failing for one in own), sum(one.points for one in own)
    return (
        f"{result.outcome}  {_name(who)}  power cuts: {failing} of {points} points fail (model states, not observed "
        f"ones); {result.states} distinct states, {result.groups} for a restart"
    )


def _name(who: Subject) -> str:
    return f"{who.name}:{who.variant}" if who.variant else who.name


def _table(result: PowerExploration) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("model")
    for head in ("points", "states", "failing", "requests again: median", "most"):
        table.add_column(head, justify="right")
    table.add_column("what fails, at how many points")
    for one in result.tallies:
        name = "(a kill)" if one.model == KILL else one.model
        words = ", ".join(f"{what.replace('_', ' ')} {count}" for what, count in one.findings.items())
        figures = (one.points, one.states, one.failing, one.again_median, one.again_most)
        table.add_row(name, *(f"{figure:g}" for figure in figures), words)
    return table


def _progress(tallies: Sequence[Tally]) -> Iterator[str]:
    """Where a cut costs requests that a kill does not: the crawler forgot what it had done."""
    most = max((one.again_most for one in tallies if one.model == KILL), default=0)
    costly = [one for one in tallies if one.model != KILL and one.again_most > most]
    if not costly:
        yield f"no progress lost: at most {_requests(most)} made again, as after a kill"
    for one in costly:
        yield (
            f"lost progress: {one.model}: up to {_requests(one.again_most)} made again (median "
            f"{one.again_median:g}); after a kill at most {most:g}"
        )


def _requests(count: float) -> str:
    return f"{_count(count, 'request')} {'is' if count == 1 else 'are'}"


def _count(count: float, noun: str) -> str:
    return f"{count:g} {noun}{'' if count == 1 else 's'}"


def _exits(exits: Sequence[AfterExit]) -> Iterator[str]:
    if not exits:
        yield "it does not end with code 0 by itself: there is no cut after that to judge"
        return
    yield "a cut after exit 0, as it lies if nobody starts it again:"
    for one in exits:
        when = "some seconds after" if one.model in AFTER_SECONDS else "right after"
        name = f"{one.model} {one.detail}".strip()
        yield f"  {'PASS' if one.is_sound else 'FAIL'}  {name}, {when}: {_lying(one)}; {_started(one)}"


def _lying(one: AfterExit) -> str:
    if one.rows is None:
        return "the store can't be read"
    words = "".join(f", {count} {name}" for name, count in one.findings.items())
    return f"{one.rows} rows of {one.products} products{words}"


def _started(one: AfterExit) -> str:
    outcome = "all right" if one.again.outcome == "PASS" else one.again.kind or one.again.outcome
    return f"one more start: {outcome}, {_count(one.requests, 'request')}"


def _map(result: PowerExploration, model: str, console: Console) -> None:
    """One cell for each moment, the worst of the model's states there; nothing where all of them recover."""
    judged = [cut.judged for cut in result.cuts if cut.model == model]
    failing = [one for one in judged if one.outcome == "FAIL"]
    if not failing:
        return
    say(console, f"\n{model}: one cell for each moment that it knows a state of; yellow: it fails")
    for line in explored_text.cells(_worst(judged), max(20, console.width - 8)):
        console.print(line, soft_wrap=True)
    found = groups(failing)
    for what, phase, wrong, members in found[:_GROUPS]:
        count = _count(len(members), "point")
        steps = intervals.words(sorted({one.point.k for one in members}))
        say(console, f"  {wrong}: cut before {what}, {phase}: {count}: {steps}")
    if len(found) > _GROUPS:
        say(console, f"  and {_count(len(found) - _GROUPS, 'more kind')} of place: points_power.jsonl")


def _worst(judged: Sequence[Judged]) -> list[Judged]:
    """Of each moment the state that came out worst."""
    moments = groupby(judged, lambda one: (one.point.k, one.point.trigger))
    return [max(members, key=lambda one: _RANK.index(one.outcome)) for _, members in moments]
