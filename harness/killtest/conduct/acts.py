"""Faults that are no signal to the subject: what is done to a service or to the subject's code, step by step."""

from typing import Protocol

from killtest.conduct.history import History
from killtest.conduct.life import Life
from killtest.judge.course import Revision
from killtest.plan.fault import Fault
from killtest.process.launcher import Launcher, Strike
from killtest.reload.code_copy import Edited


class Ground(Protocol):
    """What acts need of the stage."""

    @property
    def launcher(self) -> Launcher:
        """The process side."""

    def edit(self, kind: str, instance: int) -> Edited:
        """Make that edit in the code which that instance runs from."""


class Acts:
    """Carries out one such fault at a time; `due_s` is when its next step is due, None when there is none.

    `revisions` are the changes that were made to the code so far.

    The subject is not ended by it, and may end by itself before the last step: that comes all the same, in whatever
    incarnation then runs.
    """

    def __init__(self, ground: Ground, history: History) -> None:
        """Nothing is under way."""
        self._ground = ground
        self._history = history
        self._fault: Fault | None = None
        self._step = 0
        self.due_s: float | None = None
        self.revisions: list[Revision] = []

    def begin(self, fault: Fault, life: Life) -> Strike:
        """Take the first step of the fault."""
        self._fault, self._step = fault, 0
        return self._take(life)

    def go_on(self, life: Life) -> None:
        """Take the step that is due."""
        self._take(life)

    def finish(self, life: Life) -> None:
        """The trial is over: what is still to come is done now, so that nothing stays broken."""
        while self.due_s is not None:
            self._take(life)

    def _take(self, life: Life) -> Strike:
        fault = self._fault
        assert fault is not None
        what = fault.steps[self._step].signal
        struck = self._on_service(fault, what, life) if fault.service else self._on_code(fault, what, life)
        self._step += 1
        has_more = self._step < len(fault.steps)
        self.due_s = struck.t_s + fault.steps[self._step].delay_s if has_more else None
        return struck

    def _on_service(self, fault: Fault, action: str, life: Life) -> Strike:
        """One step; behind a KILL that nothing follows the service is started at once, as a supervisor would."""
        launcher, name = self._ground.launcher, fault.service or ""
        struck = launcher.start_service(name) if action == "START" else launcher.kill_service(name)
        self._note(name, action, life, struck)
        if action == "KILL" and len(fault.steps) == 1:
            self._note(name, "START", life, launcher.start_service(name))
        return struck

    def _on_code(self, fault: Fault, kind: str, life: Life) -> Strike:
        """One edit of the code of the fault's instance."""
        done = self._ground.edit(kind, fault.instance)
        facts = {"kind": kind, "files": done.files, "revision": done.revision}
        self._history.note("reloaded", done.t_s, incarnation=life.number, instance=fault.instance, **facts)
        if kind == "change" and done.revision is not None:
            self.revisions.append(Revision(fault.instance, done.revision, done.t_s))
        return Strike((), done.t_s, done.t_s)

    def _note(self, name: str, action: str, life: Life, struck: Strike) -> None:
        self._history.note(
            "service", struck.t_s, incarnation=life.number, name=name, action=action, pid=struck.targets[0]
        )
