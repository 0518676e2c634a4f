"""What the machine does to the subject from a moment on: begun with the warden, struck once somebody has met it."""

from typing import Any, Protocol

from killtest.conduct import strike_record
from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.judge.course import CallErrors
from killtest.judge.evidence import FaultRecord
from killtest.plan.fault import Fault
from killtest.process.launcher import Launcher


class Printed(Protocol):
    """What the incarnations print."""

    def printed_bytes(self, incarnation: int) -> tuple[int, ...]:
        """How much it has printed so far, in each of its outputs."""

    def said(self, incarnation: int, since_bytes: tuple[int, ...]) -> str:
        """The end of what it has printed behind that."""


class Hardships:
    """The hardships of a trial that have begun; `errors` are the incarnations whose calls failed of one.

    Failing calls last as long as their incarnation, a limit of memory as long as the trial.
    """

    def __init__(self, launcher: Launcher, printed: Printed, history: History) -> None:
        """None has begun; `printed` is what the incarnations print."""
        self._launcher = launcher
        self._printed = printed
        # What was printed before calls fail names no cause of theirs.
        self._since_bytes: tuple[int, ...] = ()
        self._history = history
        self._lives: dict[int, Life] = {}
        self._places: dict[str, int] = {}
        self._failing: tuple[str, Life] | None = None
        self._first: dict[str, Any] | None = None
        self.errors: list[CallErrors] = []

    def begin(self, fault: Fault, place: int, life: Life | None) -> None:
        """From now on; `place` is that of its record, `life` the incarnation, None before the first one."""
        hardship = fault.hardship
        assert hardship is not None
        when = {} if life is None else {"incarnation": life.number}
        if hardship.size_bytes is not None:
            told = self._launcher.limit_memory(hardship.size_bytes)
            self._places["out_of_memory"] = place
            self._history.note("memory_limited", planned=fault.text, size_bytes=hardship.size_bytes, by=told, **when)
            return
        assert life is not None
        if self._failing is not None:
            self.settle(self._failing[1])  # a second one takes the place of the first
        self._since_bytes = self._printed.printed_bytes(life.number)
        self._launcher.fail_steps(hardship.kind, hardship.times)
        self._places["call_failed"] = place
        self._failing, self._first = (hardship.kind, life), None
        self._history.note("calls_fail", planned=fault.text, **when)

    def meet(self, event: dict[str, Any], life: Life | None, records: list[FaultRecord]) -> None:
        """A first call has failed, or a process was killed for its memory: the record of it in `records` says so."""
        facts = {name: value for name, value in event.items() if name not in ("event", "t_s")}
        self._history.note(event["event"], event["t_s"], **facts)
        if event["event"] == "call_failed":
            self._first = event
        place = self._places.get(event["event"])
        if place is not None and records[place].status == "not_reached":
            records[place] = strike_record.met(records[place], event, life)

    def settle(self, life: Life) -> None:
        """That incarnation has ended, and with it what failed its calls: how many, and what it said."""
        if self._failing is None or self._failing[1] is not life:
            return
        kind, first = self._failing[0], self._first
        calls, names = self._launcher.failed_steps()
        self._failing = None
        self._history.note("calls_failed", incarnation=life.number, errno=kind.upper(), calls=calls)
        if first is not None:
            what = (kind.upper(), calls, first["call"], first["path"])
            said = self._printed.said(life.number, self._since_bytes)
            self.errors.append(CallErrors(life.number, *what, said, names))
