"""Faults as data: what strikes, when and whom (docs/faults.md).

`fault_text.parse` and `Fault.text` are inverse, so that a schedule stored as text is the schedule.
"""

from typing import Literal

import msgspec

from killtest.plan import duration
from killtest.plan.misdeed import Misdeed

# `throughout` is no moment: a misbehaviour of the site that holds from the start of the trial to its end.
TriggerKind = Literal["after", "first", "request", "response", "partial", "mark", "rows", "syscall", "throughout"]
Scope = Literal["pid", "group", "tree", "owner"]

SIGNALS = ("KILL", "INT", "TERM", "HUP", "QUIT", "STOP", "CONT")
# These two pause and resume; every other one is meant to end whom it hits.
_PAUSES = ("STOP", "CONT")
SCOPES: tuple[Scope, ...] = ("pid", "group", "tree", "owner")
# What happens in life: an OOM or `kill -9` of a service takes the whole tree, Ctrl-C reaches the
# terminal's foreground group, a container runtime signals the main process alone. CONT resumes what was stopped.
DEFAULT_SCOPE: dict[str, Scope] = {
    "KILL": "tree",
    "INT": "group",
    "QUIT": "group",
    "TERM": "pid",
    "HUP": "pid",
    "STOP": "tree",
    "CONT": "tree",
}


class Trigger(msgspec.Struct, frozen=True):
    """The moment a fault strikes.

    `after` and `first` carry `offset_s`, seconds since the incarnation's start or first request;
    `request` and `response` carry `n` and, when they wait for one page only, `path`; `partial` carries
    these and `at_bytes`, how much of the body of that answer has gone out; `mark` carries `name` and
    `n`, which announcement of it; `syscall` the call's `name` and `n`; `rows` carries `n`, how many rows the store
    holds; `throughout` carries nothing.
    """

    kind: TriggerKind
    offset_s: float = 0.0
    n: int = 1
    path: str | None = None
    name: str | None = None
    at_bytes: int | None = None

    @property
    def is_timed(self) -> bool:
        """True for a timer, whose moment is noisy; false for a fact."""
        return self.kind in ("after", "first")

    @property
    def text(self) -> str:
        """The trigger as it is written in a schedule."""
        if self.kind == "throughout":
            return ""
        if self.kind == "after":
            return f"after:{duration.text(self.offset_s)}"
        if self.kind == "first":
            return f"first+{duration.text(self.offset_s)}"
        what = self.path or self.name
        if what is None:
            return f"{self.kind}:{self.n}"
        number = f"#{self.n}" if self.n != 1 else ""
        return f"{self.kind}:{what}{number}" + (f"@{self.at_bytes}" if self.at_bytes is not None else "")


class Step(msgspec.Struct, frozen=True):
    """One signal of an action (or edit of the code, or act on a service); `delay_s` seconds after the one before it."""

    signal: str
    delay_s: float = 0.0


class Fault(msgspec.Struct, frozen=True):
    """What strikes, when and whom; `incarnation` pins it to one incarnation.

    `steps` are the signals; `bumps` the paths whose next version the site serves from then on. One of them may be
    empty, not both. `on` says what the steps act on: signals go to the subject (""), edits (`fault_text.RELOADS`) are
    made in its code ("reload"), and KILL and START happen to a service ("service:valkey"). `instance` is which of
    several copies is meant (the scope `owner` finds its own); with `is_final` that one is not started again. `misdeed`
    is what the site does wrong from then on; such a fault has neither steps nor bumps.
    """

    trigger: Trigger
    steps: tuple[Step, ...]
    scope: Scope
    incarnation: int | None = None
    bumps: tuple[str, ...] = ()
    on: str = ""
    instance: int = 0
    is_final: bool = False
    misdeed: Misdeed | None = None

    @property
    def text(self) -> str:
        """The fault as it is written in a schedule; `parse` reads it back."""
        pin = "" if self.incarnation is None else f"{self.incarnation}/"
        if self.misdeed is not None:
            return f"{pin}{self.trigger.text} {self.misdeed.text}".lstrip()
        actions = [f"bump:{path}" for path in self.bumps]
        words = ""
        if self.steps:
            first, *rest = self.steps
            before = f"{self.on}:" if self.on else ""
            actions.append(
                before + first.signal + "".join(f"+{one.signal}@{duration.text(one.delay_s)}" for one in rest)
            )
            words = "" if self.on or self.scope == DEFAULT_SCOPE[first.signal] else f" scope={self.scope}"
        words += f" instance={self.instance}" if self.instance else ""
        words += " restart=never" if self.is_final else ""
        return f"{pin}{self.trigger.text} {', '.join(actions)}{words}"

    @property
    def is_blow(self) -> bool:
        """Whether it is signals to the subject, or a bump: over at its moment, for all that the site has to do."""
        return not self.on and self.misdeed is None

    @property
    def service(self) -> str | None:
        """The service that it acts on."""
        return self.on.partition(":")[2] or None


def is_pause(signal: str) -> bool:
    """True for STOP and CONT, which end nobody."""
    return signal in _PAUSES
