"""How far a campaign is: a bar on a terminal, a line per trial elsewhere."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from killtest.campaigns.campaign_run import Watcher
from killtest.campaigns.story import headline
from killtest.campaigns.trial_line import Line
from killtest.conduct.history import Entry
from killtest.plan.campaign import Planned


class Pace:
    """Estimates the time left from what the finished trials of each subject took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing known."""
        self._clock = clock
        self._began_s: dict[str, float] = {}
        self._side_by_side = 1
        self._spans_s: dict[str, list[float]] = defaultdict(list)
        self._waiting: list[str] = []

    def plan(self, subjects: list[str]) -> None:
        """The subjects of the trials still to run, one entry per trial."""
        self._waiting = list(subjects)

    def begin(self, trial_id: str) -> None:
        """A trial begins, perhaps beside others."""
        self._began_s[trial_id] = self._clock()
        self._side_by_side = max(self._side_by_side, len(self._began_s))

    def end(self, trial_id: str, subject: str) -> None:
        """It has ended."""
        self._spans_s[subject].append(self._clock() - self._began_s.pop(trial_id))
        self._waiting.remove(subject)

    def left_s(self) -> float | None:
        """Seconds until the end; None before the first trial has ended."""
        known = [span for spans in self._spans_s.values() for span in spans]
        if not known:
            return None
        overall = sum(known) / len(known)
        means = {subject: sum(spans) / len(spans) for subject, spans in self._spans_s.items()}
        return sum(means.get(subject, overall) for subject in self._waiting) / self._side_by_side


class Bar:
    """The bar: trial, incarnation, kills, rows, requests and time left."""

    def __init__(self, progress: Progress, pace: Pace) -> None:
        """Draw on `progress`."""
        self._progress = progress
        self._pace = pace
        self._task = progress.add_task("", total=None, what="", left="")
        self._facts: dict[str, dict[str, int]] = {}  # of each running trial

    def campaign_began(self, trials: list[Planned], finished: set[str]) -> None:
        """Set the length of the bar."""
        done = sum(planned.id in finished for planned in trials)
        self._pace.plan([planned.subject.name for planned in trials if planned.id not in finished])
        self._progress.update(self._task, total=len(trials), completed=done)

    def trial_began(self, planned: Planned) -> None:
        """Name the trial."""
        self._facts[planned.id] = {"incarnation": 0, "kills": 0, "rows": 0, "requests": 0}
        self._pace.begin(planned.id)
        self._show(planned.id)

    def heard(self, trial_id: str, entry: Entry) -> None:
        """Move the counters."""
        facts = self._facts[trial_id]
        if entry["event"] == "started":
            facts["incarnation"] = entry["incarnation"]
        elif entry["event"] == "struck":
            facts["kills"] += 1
        elif entry["event"] == "ended":
            facts |= {"rows": entry["rows"] or 0, "requests": entry["requests"]}
        self._show(trial_id)

    def trial_ended(self, line: Line) -> None:
        """One more done."""
        del self._facts[line["id"]]
        self._pace.end(line["id"], line["subject"])
        self._progress.advance(self._task)

    def _show(self, trial_id: str) -> None:
        facts = " ".join(f"{name} {value}" for name, value in self._facts[trial_id].items())
        beside = f" and {len(self._facts) - 1} more" if len(self._facts) > 1 else ""
        left_s = self._pace.left_s()
        left = "" if left_s is None else f"about {left_s // 60:.0f}:{left_s % 60:02.0f} left"
        self._progress.update(self._task, what=f"{trial_id}{beside}  {facts}", left=left)


class Lines:
    """A line per finished trial, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        """Print on `console`."""
        self._console = console
        self._total = self._done = 0

    def campaign_began(self, trials: list[Planned], finished: set[str]) -> None:
        """Say how many trials there are."""
        self._total, self._done = len(trials), sum(planned.id in finished for planned in trials)
        self._console.print(f"{self._total} trials, {self._done} finished before", highlight=False)

    def trial_began(self, planned: Planned) -> None:
        """Nothing to say yet."""

    def heard(self, trial_id: str, entry: Entry) -> None:
        """Nothing to say: the trial's line follows."""

    def trial_ended(self, line: Line) -> None:
        """One line."""
        self._done += 1
        name = line["schedule"]["name"]
        self._console.print(
            f"[{self._done}/{self._total}] {name}: {headline(line)}", highlight=False, markup=False, soft_wrap=True
        )


@contextmanager
def progress_for(console: Console) -> Iterator[Watcher]:
    """The watcher that suits `console`."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[what]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, Pace())
