"""Where the subject waits for us: at the marks that it announces itself, and before the durable steps that we watch."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from killtest.process import mark_post
from killtest.process import process_tree as tree
from killtest.process.kin import Kin
from killtest.process.process_tree import Identity
from killtest.trace.failing import Failing
from killtest.trace.step import Step
from killtest.trace.supervisor import Supervisor

Message = dict[str, Any]


class Checkpoints:
    """The mark post and, while steps are watched, the supervisor of the newest incarnation.

    `last_owner` is who waited last. `say` takes events, from the supervisor's thread as well.
    """

    def __init__(self, folder: Path, kin: Kin, say: Callable[[Message], None]) -> None:
        """Listen for marks in `folder`."""
        self.marks = mark_post.MarkPost(mark_post.path_in(folder), self._mark_due, self._incarnation_of)
        self.last_owner: Identity | None = None
        self._kin = kin
        self._say = say
        self._supervisor: Supervisor | None = None
        self._supervisors: list[Supervisor] = []
        self._armed_step: tuple[str, int] | None = None
        self.commands: dict[str, Callable[[Message], Message]] = {
            "arm_mark": self._arm_mark,
            "disarm_mark": self._disarm_mark,
            "release_mark": self._release_mark,
            "arm_step": self._arm_step,
            "release_step": self._release_step,
            "fail_steps": self._fail_steps,
            "failed_steps": self._failed_steps,
            "end_trace": self._end_trace,
            "forget": self._forget,
        }

    def watched(self, trace: Message | None, incarnation: int) -> Supervisor | None:
        """A supervisor for the incarnation that is about to start, if its steps are to be seen."""
        self._supervisor = None
        for one in self._supervisors:
            one.failing = None  # whoever an earlier one left behind has space again too
        if trace is not None:
            log = Path(trace["log"]) if trace["log"] else None
            self._supervisor = Supervisor(
                trace["root"],
                log,
                lambda step: self._step_due(step, incarnation),
                lambda step: self._step_failed(step, incarnation),
                skips_syncs=trace["skips_syncs"],
            )
            self._supervisors.append(self._supervisor)
            if self._armed_step:
                self._supervisor.arm(*self._armed_step)
        return self._supervisor

    @property
    def parked(self) -> int | None:
        """The thread that waits before a step."""
        return self._supervisor.parked if self._supervisor else None

    def release_step(self) -> None:
        """Let the parked step be taken."""
        if self._supervisor:
            self._supervisor.release()

    def _step_due(self, step: Step, incarnation: int) -> None:
        """Called by the supervisor's thread, which waits until the step is released."""
        self._armed_step = None
        self.last_owner = tree.identify(tree.process_of(step.tid))
        facts = {"name": step.call, "n": step.n, "k": step.k, "path": step.path}
        self._say({"event": "step", **facts, "incarnation": incarnation, "t_s": step.t_s})

    def _step_failed(self, step: Step, incarnation: int) -> None:
        """Called by the supervisor's thread at the first call that is made to fail."""
        facts = {"call": step.call, "n": step.n, "k": step.k, "path": step.path}
        self._say({"event": "call_failed", **facts, "incarnation": incarnation, "t_s": step.t_s})

    def _mark_due(self, name: str, n: int, pid: int) -> None:
        self.last_owner = tree.identify(pid)
        facts = {"name": name, "n": n, "pid": pid, "incarnation": self._kin.incarnation}
        self._say({"event": "mark", **facts, "t_s": time.monotonic()})

    def _incarnation_of(self, pid: int) -> int | None:
        one = tree.identify(pid)
        return None if one is None else self._kin.counted_with(one)

    def _arm_mark(self, request: Message) -> Message:
        self.marks.arm(request["incarnation"], request["name"], request["n"])
        return {}

    def _disarm_mark(self, _: Message) -> Message:
        self.marks.disarm()
        return {}

    def _release_mark(self, _: Message) -> Message:
        self.marks.release()
        return {}

    def _arm_step(self, request: Message) -> Message:
        self._armed_step = (request["name"], request["n"])
        if self._supervisor:
            self._supervisor.arm(*self._armed_step)
        return {}

    def _release_step(self, _: Message) -> Message:
        self.release_step()
        return {}

    def _fail_steps(self, request: Message) -> Message:
        if self._supervisor is None:
            raise ValueError("the steps of this incarnation are not watched")
        self._supervisor.failing = Failing(request["kind"], request["times"])
        return {}

    def _failed_steps(self, _: Message) -> Message:
        failing = self._supervisor.failing if self._supervisor else None
        return {"calls": failing.calls if failing else 0, "names": list(failing.names) if failing else []}

    def _end_trace(self, request: Message) -> Message:
        return {"ended": all(one.join(request["deadline_s"]) for one in self._supervisors)}

    def _forget(self, _: Message) -> Message:
        self.marks.disarm()
        self.marks.release()
        self._armed_step = None
        if self._supervisor:
            self._supervisor.disarm()
        return {}
