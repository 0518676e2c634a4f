"""A draft for the crawler's own tracker: a measurement, with versions and a way to repeat it, and no more."""

import json
from collections.abc import Iterator
from typing import Any

from killtest.campaigns import answer
from killtest.campaigns.answer import Answer
from killtest.plan.fault import Fault
from killtest.plan.fault_text import parse
from killtest.plan.manifest import Subject

_KEYS_SHOWN = 10
_MEANINGS = {
    "lost": "the page was requested, and its row is not in the store at the end",
    "missed": "the page was never requested",
    "duplicated": "more than one row has this key",
    "corrupted": "a value differs from what the page says, or can't be read",
    "stale": "an older version than the last one served is in the store",
    "unexpected": "no page carries this key",
    "vanished": "the row was there after an earlier process, and is not there at the end",
    "false_done": "the last process ended with exit code 0 while rows were missing",
    "orphans": "processes still lived when the crawl had ended",
    "zombies": "dead processes had not been waited for",
    "ports": "ports were still open when the crawl had ended",
    "files.missing": "there is no picture of the product",
    "files.truncated": "the picture is shorter than the one that was served",
    "files.wrong": "the file is like no picture that was served for it",
    "files.doubled": "the same picture is there under another name",
    "files.stale": "an older picture than the last one served is there",
    "webhooks.twice": "the same record was announced twice",
    "webhooks.never": "the record is in the store, and was never announced",
    "webhooks.wrong": "what was announced is no record of the shop",
    "counters.wrong": "the counter differs from the rows",
    "counters.missing": "the counter is not there",
    "captures.missing": "the page was not kept",
    "captures.wrong": "the page that was kept is not what was served",
    "captures.torn": "the entry can't be read",
}


def text(who: Subject, expected: dict[str, Any], observed: dict[str, Any], versions: dict[str, Any], rule: str) -> str:
    """The draft, as Markdown."""
    said = Answer(observed["outcome"], observed["ending"], observed["findings"], _counts(observed["findings"]))
    faults = [_fault(parse(fault["planned"])) for fault in observed["faults"]]
    parts = [
        f"# {who.name}: {answer.words([said])} after {_title(faults)}",
        "(A draft. Read it, run `repro.sh` on the version you report against, and say what you know of the cause.)",
        "## What was run",
        _run(who, versions),
        "\n".join(f"{number}. {one}." for number, one in enumerate(faults, 1)),
        f"Whenever it had ended early, it was started again in the same folder with {_restart(who)}.",
        "## What was found",
        "\n".join(_found(said, observed, expected)),
        f"Seen in at least {rule.partition('/')[0]} of {rule.partition('/')[2]} runs of this schedule.",
        "## What was expected",
        f"{expected['rows']} rows, one for each product, as the same crawler stores when it is not interrupted.",
        "## How to repeat it",
        "`sh repro.sh` in the attached folder; it needs Linux and `pip install killtest`.",
        "## Versions",
        "```json\n" + json.dumps(versions, indent=1, ensure_ascii=False) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _counts(findings: dict[str, Any]) -> dict[str, int]:
    return {name: len(keys) for name, keys in findings.items()}


def _title(faults: list[str]) -> str:
    return faults[0] if len(faults) == 1 else f"{len(faults)} faults"


def _restart(who: Subject) -> str:
    return f"`{' '.join(who.restart)}`" if who.restart else "the same command"


def _run(who: Subject, versions: dict[str, Any]) -> str:
    return (
        f"killtest {versions['killtest']} serves a small shop on localhost and starts the crawler against it "
        f"(`{' '.join(who.command)}`). Then:"
    )


def _fault(fault: Fault) -> str:
    trigger = fault.trigger
    page = f"`{trigger.path}`" if trigger.path else f"page request {trigger.n}"
    again = f" (the {trigger.n}. for it)" if trigger.path and trigger.n > 1 else ""
    moment = {
        "request": f"while {page}{again} waited for its answer",
        "response": f"when the answer to {page}{again} had been sent in full",
        "partial": f"when {trigger.at_bytes} bytes of the answer to {page}{again} had been sent",
        "after": f"{trigger.offset_s:g} s after the start",
        "first": f"{trigger.offset_s:g} s after the first request",
        "mark": f"at its own mark `{trigger.name}`, number {trigger.n}",
        "rows": f"when the store held {trigger.n} rows",
        "throughout": "for the whole crawl",
        "syscall": f"before its call {trigger.n} of `{trigger.name}`",
    }[trigger.kind]
    sent = _steps(fault) if fault.steps else ""
    wrong = f"the site answering as `{fault.misdeed.text}` says" if fault.misdeed else ""
    changed = ", ".join(f"a change of the page `{path}`" for path in fault.bumps)
    pin = "" if fault.incarnation is None else f", in start {fault.incarnation + 1}"
    return f"{' and '.join(filter(None, (wrong, changed, sent)))} {moment}{pin}"


def _steps(fault: Fault) -> str:
    """What is done, step by step, and to whom."""
    kind = "" if fault.on == "reload" else "SIG"
    names = ["a new start" if step.signal == "START" else f"{kind}{step.signal}" for step in fault.steps]
    delays = [f" after {step.delay_s:g} s" if step.delay_s else "" for step in fault.steps]
    words = ", then ".join(name + delay for name, delay in zip(names, delays, strict=True))
    if fault.on == "reload":
        return f"an edit of its code ({words})"
    return f"{words} to {f'the server {fault.service}' if fault.service else _WHOM[fault.scope]}"


def _found(said: Answer, observed: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    rows = "the store could not be read" if observed["rows"] is None else f"{observed['rows']} rows"
    yield f"{rows}, of {expected['rows']} products; the crawl {_ENDINGS.get(said.ending or '', said.ending)}.\n"
    for name, keys in said.findings.items():
        shown = ", ".join(f"`{key}`" for key in keys[:_KEYS_SHOWN])
        more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
        yield f"- {name.replace('_', ' ')}: {_MEANINGS.get(name, name)}" + (f": {shown}{more}" if keys else "")


_WHOM = {
    "pid": "its main process",
    "group": "its process group",
    "tree": "its whole process tree",
    "owner": "the process that had asked",
}
_ENDINGS = {
    "finished": "ended with exit code 0",
    "crash_loop": "ended with an error again and again",
    "hung": "stood still: no request and no CPU time",
    "out_of_time": "was still going on at the time limit",
    "refused_start": "ended with an error before its first request, again and again",
    "unreadable_store": "ended with exit code 0",
}
