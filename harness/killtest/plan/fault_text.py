"""Faults read from text: `TRIGGER ACTION[, ACTION] [scope=…]` (docs/faults.md)."""

import re

import msgspec

from killtest.errors import UsageError
from killtest.plan import duration, hardship, misdeed
from killtest.plan.fault import DEFAULT_SCOPE, SCOPES, SIGNALS, Fault, Scope, Step, Trigger, TriggerKind, is_pause
from killtest.trace.calls import NAMES as CALL_NAMES

_COUNT = "[1-9][0-9]{0,17}"
# What a reload fault does to the subject's files, and what is done to a service.
RELOADS = ("touch", "whitespace", "change", "broken", "mended")
_MENDED_S = 2.0
_SERVICE_ACTIONS = ("KILL", "START")
BUILT_TRIGGERS = (
    "request:N, request:/PATH, response:N, response:/PATH, partial:/PATH@BYTES, mark:NAME, rows:N, syscall:NAME#N, "
    "after:S, first+S"
)
# Any call that changes the store: the steps of `killtest explore`.
ANY_STEP = "step"
_BUILT_ACTIONS = (
    ", ".join(SIGNALS) + ", sequences as TERM+KILL@10, bump:/PATH, reload:touch, reload:whitespace, reload:change, "
    "reload:broken, service:NAME:KILL, service:NAME:KILL+START@3, enospc, eio, oom, memory:256M, clock:+3600, "
    + ", ".join(f"{kind}:/PATH=…" for kind in misdeed.KINDS)
)
# Thirty years: farther off, file systems and libraries have troubles of their own.
_FARTHEST_S = 1e9
# The process that sent the request or announced the mark: a timer has none.
_OWNED = ("request", "response", "partial", "mark", "syscall")


def parse(text: str) -> Fault:
    """The fault written in `text`; UsageError says which word is wrong and what is known."""
    words = text.split()
    if words and misdeed.is_misdeed(_parse_pin(words[0])[1]):
        return _misbehaving(Trigger("throughout"), None, words, text)
    if len(words) == 1 and hardship.is_hardship(words[0]):
        return _hard(Trigger("throughout"), None, words, text)
    if len(words) < 2:
        raise UsageError(f'fault "{text}": wants TRIGGER ACTION, for example "request:25 KILL"')
    pin, word = _parse_pin(words[0])
    trigger = _parse_trigger(word, text)
    if misdeed.is_misdeed(words[1]):
        return _misbehaving(trigger, pin, words[1:], text)
    if hardship.is_hardship(words[1]):
        return _hard(trigger, pin, words[1:], text)
    end = 2
    while end < len(words) and words[end - 1].endswith(","):
        end += 1
    if words[end - 1].startswith(("bump:", "clock:")) and end < len(words) and not re.match(_ADVERB, words[end]):
        raise UsageError(f'fault "{text}": a comma is missing between {words[end - 1]} and {words[end]}')
    done = _parse_actions(" ".join(words[1:end]), text)
    adverbs = _parse_adverbs(words[end:], text)
    scope: Scope = DEFAULT_SCOPE[done.steps[0].signal] if done.steps and not done.on else "tree"
    scope = "largest" if done.is_oom else adverbs.scope or scope
    who = (adverbs.instance or 0, adverbs.is_final)
    fault = Fault(trigger, done.steps, scope, pin, done.bumps, done.on, *who, clock_s=done.clock_s)
    _check_adverbs(adverbs, fault, text)
    return fault


def _misbehaving(trigger: Trigger, pin: int | None, words: list[str], text: str) -> Fault:
    if not misdeed.is_misdeed(words[0]):
        raise UsageError(f'fault "{text}": without a trigger it holds for the whole trial, not for one incarnation')
    try:
        what = misdeed.parse(words[0], words[1:])
    except ValueError as error:
        raise UsageError(f'fault "{text}": {error}') from None
    return Fault(trigger, (), "tree", pin, misdeed=what)


def _hard(trigger: Trigger, pin: int | None, words: list[str], text: str) -> Fault:
    """A hardship: alone, without a trigger only where it needs no incarnation to end with."""
    try:
        what = hardship.parse(words[0])
    except ValueError as error:
        raise UsageError(f'fault "{text}": {error}') from None
    if words[1:]:
        raise UsageError(f'fault "{text}": "{words[1]}" can\'t stand behind {words[0]}, which stands alone')
    if what.is_errno and trigger.kind == "throughout":
        raise UsageError(
            f'fault "{text}": wants a trigger, for example "request:25 {what.text}": it lasts one incarnation'
        )
    call = trigger.name if trigger.kind == "syscall" else None
    if what.is_errno and call not in (None, ANY_STEP) and not hardship.fails(what.kind, call or ""):
        raise UsageError(f'fault "{text}": {call} does not fail with {what.kind.upper()} (docs/faults.md)')
    return Fault(trigger, (), "tree", pin, hardship=what)


_ADVERB = r"(scope|instance|restart)="


class _Adverbs(msgspec.Struct, frozen=True):
    """The words behind the action, as they were given."""

    scope: Scope | None = None
    instance: int | None = None
    is_final: bool = False


def _parse_adverbs(words: list[str], text: str) -> _Adverbs:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.match(_ADVERB, word):
            known = ", ".join(f"scope={s}" for s in SCOPES)
            raise UsageError(f'fault "{text}": "{word}" is not understood; known: {known}, instance=N, restart=never')
        if name in found:
            raise UsageError(f'fault "{text}": one {name} at the most')
        found[name] = value
    scope = _parse_scope(f"scope={found['scope']}", text) if "scope" in found else None
    number = found.get("instance", "0")
    if not re.fullmatch(duration.NUMBER, number):
        raise UsageError(f'fault "{text}": instance={number}: wants a number, counted from 0')
    if found.get("restart", "never") != "never":
        raise UsageError(f'fault "{text}": restart={found["restart"]}: the only one is restart=never')
    return _Adverbs(scope, int(number) if "instance" in found else None, "restart" in found)


def _check_adverbs(adverbs: _Adverbs, fault: Fault, text: str) -> None:
    """Refuse words that say nothing about this fault."""
    steps, on = fault.steps, fault.on
    if fault.scope == "largest" and (adverbs.scope or adverbs.is_final):
        raise UsageError(f'fault "{text}": oom finds whom it kills, which may be a worker; it takes only instance=N')
    if adverbs.scope is not None:
        _check_scope(adverbs.scope, fault, text)
    is_nobodys = not steps or fault.service or steps[0].signal == "CONT"
    if adverbs.instance is not None and (is_nobodys or adverbs.scope == "owner"):
        what = "the owner is found by its request or mark" if adverbs.scope == "owner" else "this is no instance's"
        raise UsageError(f'fault "{text}": {what}; it takes no instance')
    if adverbs.is_final and (not steps or on or is_pause(steps[-1].signal) or adverbs.scope == "owner"):
        raise UsageError(f'fault "{text}": restart=never goes with a signal that ends a certain copy of the subject')


def _check_scope(scope: Scope, fault: Fault, text: str) -> None:
    steps, trigger = fault.steps, fault.trigger
    if not steps or fault.on or steps[0].signal == "CONT":
        what = "CONT resumes what was stopped" if steps and not fault.on else "a bump is the site's, a clock all's"
        if fault.on:
            what = "a reload is a change of files" if fault.on == "reload" else "a service has no scope"
        raise UsageError(f'fault "{text}": {what}; it takes no scope')
    if scope == "owner" and trigger.kind not in _OWNED:
        raise UsageError(f'fault "{text}": scope=owner is whose request or mark it is: {trigger.text} has none')


def _parse_pin(word: str) -> tuple[int | None, str]:
    pinned = re.fullmatch(rf"({duration.NUMBER})/(.+)", word)
    return (int(pinned[1]), pinned[2]) if pinned else (None, word)


def _parse_trigger(word: str, text: str) -> Trigger:
    timed = re.fullmatch(rf"(after:|first\+)({duration.SECONDS})", word)
    if timed:
        return Trigger("after" if timed[1] == "after:" else "first", offset_s=float(timed[2]))
    counted = re.fullmatch(rf"(request|response|rows):({_COUNT})", word)
    if counted:
        return Trigger(_kind(counted[1]), n=int(counted[2]))
    pathed = re.fullmatch(rf"(request|response):(/[^#\s]*)(?:#({_COUNT}))?", word)
    if pathed:
        return Trigger(_kind(pathed[1]), n=int(pathed[3] or 1), path=pathed[2])
    inside = re.fullmatch(rf"partial:(/[^#@\s]*)(?:#({_COUNT}))?@({duration.NUMBER})", word)
    if inside:
        return Trigger("partial", n=int(inside[2] or 1), path=inside[1], at_bytes=int(inside[3]))
    named = re.fullmatch(rf"(mark|syscall):([^#\s]+)(?:#({_COUNT}))?", word)
    if named:
        if named[1] == "syscall" and named[2] not in (*CALL_NAMES, ANY_STEP):
            known = ", ".join((ANY_STEP, *CALL_NAMES))
            raise UsageError(f'fault "{text}": {named[2]} is no call that is watched; those are: {known}')
        return Trigger(_kind(named[1]), n=int(named[3] or 1), name=named[2])
    raise UsageError(f'fault "{text}": unknown trigger "{word}"; known: {BUILT_TRIGGERS}')


def _kind(word: str) -> TriggerKind:
    kind: TriggerKind = msgspec.convert(word, TriggerKind)
    return kind


class _Actions(msgspec.Struct, frozen=True):
    """The bumps and the clock, what the steps behind them act on, and the steps."""

    bumps: tuple[str, ...]
    clock_s: float = 0.0
    on: str = ""
    steps: tuple[Step, ...] = ()
    is_oom: bool = False


def _parse_actions(words: str, text: str) -> _Actions:
    parts = [word.strip() for word in words.split(",")]
    if any(misdeed.is_misdeed(word) or hardship.is_hardship(word) for word in parts):
        raise UsageError(f'fault "{text}": a misbehaviour stands alone, and a hardship too; write a fault each')
    clocks = [moved_s for word in parts if (moved_s := _clock_s(word, text)) is not None]
    if len(clocks) > 1:
        raise UsageError(f'fault "{text}": one clock at the most; those of several faults add up')
    bumps = [_bumped(word) for word in parts if not word.startswith("clock:")]
    if None in bumps[:-1] or (None in bumps and parts[-1].startswith("clock:")):
        raise UsageError(
            f'fault "{text}": bumps stand first, and a clock, then one signal or sequence: "bump:/product/6, KILL"'
        )
    found = _Actions(tuple(path for path in bumps if path is not None), sum(clocks))
    last = parts[-1]
    if None not in bumps:
        return found
    if last == "oom":
        return msgspec.structs.replace(found, steps=(Step("KILL"),), is_oom=True)
    acted = re.fullmatch(r"(reload|service:[a-z][a-z0-9_]*):(\S+)", last)
    if acted is None:
        return msgspec.structs.replace(found, steps=_parse_steps(last, SIGNALS, text))
    steps = _parse_steps(acted[2], RELOADS if acted[1] == "reload" else _SERVICE_ACTIONS, text)
    return msgspec.structs.replace(found, on=acted[1], steps=_completed(acted[1], steps, text))


def _clock_s(word: str, text: str) -> float | None:
    """How far the word moves the clock; None for another word."""
    if not word.startswith("clock:"):
        return None
    found = re.fullmatch(rf"clock:([+-])({duration.SECONDS})", word)
    moved_s = float(f"{found[1]}{found[2]}") if found else 0.0
    if not 0 < abs(moved_s) <= _FARTHEST_S:
        raise UsageError(
            f'fault "{text}": "{word}" is written clock:+3600 or clock:-3600, seconds, up to {_FARTHEST_S:g}'
        )
    return moved_s


def _completed(on: str, steps: tuple[Step, ...], text: str) -> tuple[Step, ...]:
    """What is broken is mended some time, and a service that was killed comes back, at once where nothing is said."""
    names = [step.signal for step in steps]
    if on == "reload":
        steps = (*steps, Step("mended", _MENDED_S)) if names == ["broken"] else steps
        turns = [step.signal for step in steps if step.signal in ("broken", "mended")]
        if turns != ["broken", "mended"] * (len(turns) // 2):
            raise UsageError(f'fault "{text}": mended goes behind broken, each time: reload:broken+mended@2')
        return steps
    if names not in (["KILL"], ["KILL", "START"]):
        raise UsageError(f'fault "{text}": a service takes KILL, or KILL+START@S to come back S seconds later')
    return steps


def _bumped(word: str) -> str | None:
    found = re.fullmatch(r"bump:(/[^\s,]+)", word)
    return found[1] if found else None


def _parse_steps(word: str, known: tuple[str, ...], text: str) -> tuple[Step, ...]:
    first, *rest = word.split("+")
    steps = [Step(_named(first, known, text))]
    for part in rest:
        name, at, delay = part.partition("@")
        if not at or not re.fullmatch(duration.SECONDS, delay):
            raise UsageError(f'fault "{text}": "+{part}" wants a delay in seconds, for example TERM+KILL@10')
        if steps[-1].signal == "KILL" and known is SIGNALS:
            raise UsageError(f'fault "{text}": nothing can follow KILL')
        steps.append(Step(_named(name, known, text), float(delay)))
    return tuple(steps)


def _named(name: str, known: tuple[str, ...], text: str) -> str:
    if name in known:
        return name
    built = _BUILT_ACTIONS if known is SIGNALS else ", ".join(known)
    raise UsageError(f'fault "{text}": unknown action "{name}"; built: {built}')


def _parse_scope(word: str, text: str) -> Scope:
    for scope in SCOPES:
        if word == f"scope={scope}":
            return scope
    raise UsageError(f'fault "{text}": "{word}" is not understood; scopes: ' + ", ".join(f"scope={s}" for s in SCOPES))
