"""One finished trial as a line of trials.jsonl (docs/trial-line.md)."""

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from killtest.judge import effects
from killtest.judge.evidence import Course, Evidence
from killtest.judge.verdict import Verdict
from killtest.plan.campaign import Planned
from killtest.plan.manifest import StoreNeeds

SCHEMA = 1
# Lists of keys are cut here in the ledger, with a count beside them; the evidence holds them whole.
KEYS_SHOWN = 20
START_PATH = "/list/0"
Line = dict[str, Any]


def to_line(planned: Planned, campaign: str, verdict: Verdict, evidence: Evidence | None) -> Line:
    """The line of one trial; `evidence` is None where killtest itself failed before there was any."""
    who, schedule = planned.subject, planned.schedule
    course = evidence.course if evidence else None
    return {
        "schema": SCHEMA,
        "id": planned.id,
        "campaign": campaign,
        "subject": who.name,
        "variant": who.variant,
        "schedule": {"name": schedule.name, "group": schedule.group, "seed": schedule.seed, "faults": schedule.faults},
        "control": planned.is_control,
        "expect": who.expect,
        "outcome": verdict.outcome,
        "cause": verdict.cause,
        "problem": verdict.problem,
        "ending": course.ending if course else None,
        "ending_detail": verdict.ending_detail,
        "data": _data(verdict),
        "traffic": msgspec.to_builtins(verdict.traffic) if verdict.traffic else None,
        "effects": _effects(verdict),
        "processes": _processes(course),
        "time": _time(course) if course else None,
        "faults": [msgspec.to_builtins(_rounded(fault)) for fault in course.faults] if course else [],
        "incarnations": _incarnations(evidence) if evidence else [],
        "self_deaths": course.self_deaths if course else 0,
    }


def _data(verdict: Verdict) -> Line | None:
    data = verdict.data
    if data is None:
        return None
    return {
        "rows": data.rows,
        "distinct": data.distinct,
        "products": data.products,
        **{name: cut(getattr(data, name)) for name in FINDINGS},
        "old_code": cut(data.old_code),
        "old_code_s": data.old_code_s,
        "extra_rows": sum(data.duplicated.values()),
        "false_done": verdict.false_done,
        "not_idempotent": verdict.not_idempotent,
        "columns_not_judged": data.columns_not_judged,
        "rows_after": data.rows_after,
    }


def _effects(verdict: Verdict) -> Line:
    """By kind that is declared: each of its findings, and its costs; empty where nothing is declared."""
    found = verdict.effects
    return {
        kind: {name: cut(found.findings.get(kind, {}).get(name, {})) for name in (*names, "unreadable")}
        | found.costs.get(kind, {})
        for kind, names in effects.FINDINGS.items()
        if kind in found.kinds
    }


def effect_findings(line: Line) -> Line:
    """The findings about effects that hold a key, by names such as `files.missing`, in their order."""
    return {
        f"{kind}.{name}": one
        for kind, found in (line.get("effects") or {}).items()
        for name, one in found.items()
        if isinstance(one, dict) and one["count"]
    }


FINDINGS = ("lost", "missed", "duplicated", "corrupted", "stale", "unexpected", "vanished", "set_back")


def cut(found: Mapping[str, Any]) -> Line:
    """A finding for the ledger: how many keys, and the first of them with their details."""
    return {"count": len(found), "keys": dict(list(found.items())[:KEYS_SHOWN])}


def _processes(course: Course | None) -> Line | None:
    if course is None:
        return None
    return {"orphans": len(course.orphans), "zombies": len(course.zombies), "ports": len(course.ports)}


def _time(course: Course) -> Line:
    proper = [one for one in course.incarnations if not one.is_again]
    firsts = [None if one.first_request_s is None else round(one.first_request_s - one.started_s, 4) for one in proper]
    last = max(proper, key=lambda one: one.number)
    ended_s, started_s = max(one.ended_s for one in proper), min(one.started_s for one in proper)
    return {
        "wall_s": round(ended_s - started_s, 3),
        "first_request_s": firsts,
        "last_incarnation_s": round(last.ended_s - last.started_s, 3),
    }


def _incarnations(evidence: Evidence) -> list[Line]:
    requests, start_page = Counter[int](), Counter[int]()
    for request in evidence.requests:  # read from a file: once is enough
        requests[request.incarnation] += request.is_page
        start_page[request.incarnation] += request.is_page and request.path == START_PATH
    return [
        {
            "number": one.number,
            "started_s": round(one.started_s, 4),
            "ended_s": round(one.ended_s, 4),
            "exit": one.exit,
            "ended_by": one.ended_by,
            "again": one.is_again,
            "instance": one.instance,
            "requests": requests[one.number],
            "start_page": start_page[one.number],
            "jobdir": evidence.jobdirs.get(one.number),
        }
        for one in evidence.course.incarnations
    ]


def _rounded(record: Any) -> Any:
    changes = {
        name: round(value, 4) for name, value in msgspec.structs.asdict(record).items() if isinstance(value, float)
    }
    return msgspec.structs.replace(record, **changes)


def reproduce(planned: Planned, spec_path: str, site_words: list[str]) -> str:
    """The one command that runs this trial again.

    Up to three faults are written out; more are taken from the stored campaign by their name.
    """
    words = ["killtest", "run", *subject_words(planned), *site_words]
    faults = planned.schedule.faults
    if len(faults) <= 3:
        words += [word for fault in faults for word in ("--fault", fault)]
    else:
        words += ["--schedule", f"{spec_path}#{planned.schedule.name}"]
    return shlex.join(words + command_words(planned))


def subject_words(planned: Planned) -> list[str]:
    """How the command line names the subject: its name or folder, or nothing for one made of a command."""
    who = planned.subject
    if who.source is None:
        return store_words(who.store)
    return [who.source + (f":{who.variant}" if who.variant else "")]


def store_words(store: StoreNeeds) -> list[str]:
    """The options that say how to read a store."""
    words = ["--store", f"{store.reader}:{store.path}"]
    words += ["--key", store.key] if store.key else []
    words += ["--key-from", store.key_from] if store.key_from != "path" else []
    words += ["--delimiter", store.delimiter.replace("\t", "\\t")] if store.delimiter != "," else []
    return words + (["--query", store.query] if store.query else [])


def command_words(planned: Planned) -> list[str]:
    """`-- COMMAND` for a subject made of a command; nothing for one with a manifest."""
    return ["--", *planned.subject.command] if planned.subject.source is None else []
