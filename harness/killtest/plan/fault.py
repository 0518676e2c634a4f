"""Faults as text and as data: `TRIGGER ACTION [scope=…]` (docs/faults.md).

`parse` and `Fault.text` are inverse, so that a schedule stored as text is the schedule.
"""

import re
from typing import Literal

import msgspec

from killtest.errors import UsageError

TriggerKind = Literal["after", "first", "request", "response"]
Scope = Literal["pid", "group", "tree"]

SIGNALS = ("KILL", "INT", "TERM", "HUP", "QUIT")
SCOPES: tuple[Scope, ...] = ("pid", "group", "tree")
BUILT_TRIGGERS = "request:N, request:/PATH, response:N, response:/PATH, after:S, first+S"
_LATER_TRIGGERS = ("mark", "rows", "syscall", "partial")
# What happens in life: an OOM or `kill -9` of a service takes the whole tree, Ctrl-C reaches the
# terminal's foreground group, a container runtime signals the main process alone.
_DEFAULT_SCOPE: dict[str, Scope] = {"KILL": "tree", "INT": "group", "QUIT": "group", "TERM": "pid", "HUP": "pid"}


class Trigger(msgspec.Struct, frozen=True):
    """The moment a fault strikes.

    `after` and `first` carry `offset_s`, seconds since the incarnation's start or first request;
    `request` and `response` carry `n` and, when they wait for one page only, `path`.
    """

    kind: TriggerKind
    offset_s: float = 0.0
    n: int = 1
    path: str | None = None

    @property
    def is_timed(self) -> bool:
        """True for a timer, whose moment is noisy; false for a fact seen by the site."""
        return self.kind in ("after", "first")

    @property
    def text(self) -> str:
        """The trigger as it is written in a schedule."""
        if self.kind == "after":
            return f"after:{self.offset_s:g}"
        if self.kind == "first":
            return f"first+{self.offset_s:g}"
        if self.path is None:
            return f"{self.kind}:{self.n}"
        return f"{self.kind}:{self.path}" + (f"#{self.n}" if self.n != 1 else "")


class Step(msgspec.Struct, frozen=True):
    """One signal of an action; `delay_s` seconds after the signal before it."""

    signal: str
    delay_s: float = 0.0


class Fault(msgspec.Struct, frozen=True):
    """What strikes, when and whom; `incarnation` pins it to one incarnation."""

    trigger: Trigger
    steps: tuple[Step, ...]
    scope: Scope
    incarnation: int | None = None

    @property
    def text(self) -> str:
        """The fault as it is written in a schedule; `parse` reads it back."""
        pin = "" if self.incarnation is None else f"{self.incarnation}/"
        first, *rest = self.steps
        action = first.signal + "".join(f"+{step.signal}@{step.delay_s:g}" for step in rest)
        scope = "" if self.scope == _DEFAULT_SCOPE[first.signal] else f" scope={self.scope}"
        return f"{pin}{self.trigger.text} {action}{scope}"


def parse(text: str) -> Fault:
    """The fault written in `text`; UsageError says which word is wrong and what is known."""
    words = text.split()
    if len(words) < 2:
        raise UsageError(f'fault "{text}": wants TRIGGER ACTION, for example "request:25 KILL"')
    pin, trigger = _parse_pin(words[0])
    steps = _parse_action(words[1], text)
    scope = _DEFAULT_SCOPE[steps[0].signal]
    if len(words) > 3:
        raise UsageError(f'fault "{text}": one scope at the most')
    for word in words[2:]:
        scope = _parse_scope(word, text)
    return Fault(_parse_trigger(trigger, text), steps, scope, pin)


def _parse_pin(word: str) -> tuple[int | None, str]:
    pinned = re.fullmatch(r"(\d+)/(.+)", word)
    return (int(pinned[1]), pinned[2]) if pinned else (None, word)


def _parse_trigger(word: str, text: str) -> Trigger:
    timed = re.fullmatch(r"(after:|first\+)(\d+(?:\.\d+)?)", word)
    if timed:
        return Trigger("after" if timed[1] == "after:" else "first", offset_s=float(timed[2]))
    counted = re.fullmatch(r"(request|response):(\d+)", word)
    if counted and int(counted[2]) >= 1:
        return Trigger(_site_kind(counted[1]), n=int(counted[2]))
    pathed = re.fullmatch(r"(request|response):(/[^#\s]*)(?:#([1-9]\d*))?", word)
    if pathed:
        return Trigger(_site_kind(pathed[1]), n=int(pathed[3] or 1), path=pathed[2])
    name = re.split(r"[:+]", word)[0]
    if name in _LATER_TRIGGERS:
        raise UsageError(f'fault "{text}": the trigger "{name}" is not built yet; built: {BUILT_TRIGGERS}')
    raise UsageError(f'fault "{text}": unknown trigger "{word}"; known: {BUILT_TRIGGERS}')


def _site_kind(word: str) -> Literal["request", "response"]:
    return "request" if word == "request" else "response"


def _parse_action(word: str, text: str) -> tuple[Step, ...]:
    first, *rest = word.split("+")
    steps = [Step(_signal(first, text))]
    for part in rest:
        name, at, delay = part.partition("@")
        if not at or not re.fullmatch(r"\d+(\.\d+)?", delay):
            raise UsageError(f'fault "{text}": "+{part}" wants a delay in seconds, for example TERM+KILL@10')
        if steps[-1].signal == "KILL":
            raise UsageError(f'fault "{text}": nothing can follow KILL')
        steps.append(Step(_signal(name, text), float(delay)))
    return tuple(steps)


def _signal(name: str, text: str) -> str:
    if name in SIGNALS:
        return name
    raise UsageError(f'fault "{text}": unknown action "{name}"; built: {", ".join(SIGNALS)}, sequences as TERM+KILL@10')


def _parse_scope(word: str, text: str) -> Scope:
    for scope in SCOPES:
        if word == f"scope={scope}":
            return scope
    raise UsageError(f'fault "{text}": "{word}" is not understood; scopes: ' + ", ".join(f"scope={s}" for s in SCOPES))
