"""The story of a run, as it happens, and its verdict in words."""

from pathlib import Path
from typing import Any

import click

from killtest.campaigns.trial_line import FINDINGS, Line, effect_findings
from killtest.conduct.history import Entry
from killtest.plan.campaign import Planned
from killtest.report.lapses import lapse_lines


class Story:
    """Tells each incarnation on stderr, and the verdict on stdout."""

    def __init__(self, quiet: bool = False) -> None:
        """Tell nothing before the end when `quiet`."""
        self._is_quiet = quiet
        self._origin_s = 0.0

    def campaign_began(self, trials: list[Planned], finished: set[str]) -> None:
        """Nothing to tell."""

    def trial_began(self, planned: Planned) -> None:
        """Name the trial."""
        self._say(f"{planned.id}")

    def heard(self, trial_id: str, entry: Entry) -> None:
        """Tell one entry of the history, if it is one that people care about."""
        if entry["event"] == "trial_started":
            self._origin_s = entry["t_s"]
        words = _WORDS.get(entry["event"])
        if words is not None:
            self._say(f"  {entry['t_s'] - self._origin_s:7.3f} s  {words(entry)}")

    def trial_ended(self, line: Line) -> None:
        """Say how it came out."""
        self._say(f"  {headline(line)}\n")

    def close(self, line: Line, folder: Path) -> None:
        """Print the verdict with proof and the command that reproduces it."""
        click.echo("\n".join(verdict_lines(line, folder)))

    def _say(self, text: str) -> None:
        if self._is_quiet:
            return
        try:
            click.echo(text, err=True)
        except OSError:
            self._is_quiet = True  # nobody reads the story any more; the trial goes on


def _started(entry: Entry) -> str:
    again = " (again: it had finished)" if entry["again"] else ""
    return f"incarnation {entry['incarnation']} starts{again}"


def _struck(entry: Entry) -> str:
    where = ", ".join(entry["in_flight"]) or "no request in flight"
    answer = "handled by it" if entry["caught"] else "ignored by it" if entry["ignored"] else "default action"
    kind = "" if entry["signal"] == "KILL" else f" ({answer})"
    processes = f"{entry['targets']} process{'es' if entry['targets'] != 1 else ''}"
    return f"SIG{entry['signal']}{kind} to {processes}; {where}"


def _ended(entry: Entry) -> str:
    rows = f"{entry['rows']} rows" if entry["rows"] is not None else f"store unreadable: {entry['store_error']}"
    # A process that is ending has no command line any more.
    commands = ", ".join(command or "a process that was ending" for command in entry["left_behind"])
    left = f"; left behind: {commands}" if commands else ""
    return f"incarnation {entry['incarnation']} ended with {entry['exit']}; {rows}, {entry['requests']} requests{left}"


def _service(entry: Entry) -> str:
    done = "is killed" if entry["action"] == "KILL" else "is started again"
    return f"the service {entry['name']} {done} (pid {entry['pid']})"


def _reloaded(entry: Entry) -> str:
    files = entry["files"]
    named = files[0] if len(files) == 1 else f"{len(files)} files"
    whose = f" of instance {entry['instance']}" if entry["instance"] else ""
    revision = f": revision {entry['revision']}" if entry["kind"] == "change" and entry["revision"] is not None else ""
    return f"reload:{entry['kind']} in {named}{whose}{revision}"


_WORDS: dict[str, Any] = {
    "started": _started,
    "struck": _struck,
    "missed": lambda entry: f"{entry.get('planned', 'a trigger')} was due: {entry.get('why', 'it had already ended')}",
    "ended": _ended,
    "given_up": lambda entry: f"given up: {entry['ending']}",
    "bumped": lambda entry: f"the site changes {entry['path']}: version {entry['version']} from now on",
    "misbehaves": lambda entry: f"the site goes wrong from now on: {entry['misbehaviour']}",
    "misbehaved": lambda entry: f"the request for {entry['path']} is the first to meet {entry['misbehaviour']}",
    "service": _service,
    "clock": lambda entry: f"its clock is moved by {entry['moved_s']:+g} s from the next start on",
    "calls_fail": lambda entry: f"its calls fail from now on: {entry['planned']}",
    "call_failed": lambda entry: f"{entry['call']} of {entry['path']} fails",
    "calls_failed": lambda entry: f"{entry['calls']} calls have failed with {entry['errno']}",
    "memory_limited": lambda entry: f"its memory is limited to {entry['size_bytes']} bytes by {entry['by']}",
    "out_of_memory": lambda entry: (
        f"out of memory: process {entry['pid']} is killed at {entry['resident_bytes']} bytes"
    ),
    "reloaded": _reloaded,
    "resumed": lambda entry: f"nothing moved for {entry['for_s']:.0f} s: what was paused goes on",
    "output_cut": lambda entry: f"{entry['dropped_bytes']} bytes of its output were dropped: {entry['path']}",
    "hold_expired": lambda entry: "the site's longest hold ran out; answers go out again",
}


def headline(line: Line) -> str:
    """Outcome, subject and the figures that matter, in one line."""
    if line["data"] is None:
        return f"{line['outcome']}  {line['subject']}  {line['problem']}"
    data, traffic = line["data"], line["traffic"]
    parts = [f"{data['distinct']} of {data['products']} products in {data['rows']} rows"]
    if data["rows"] is None:
        parts = [f"its store can't be read, {data['products']} products unaccounted for"]
    parts += [f"{found['count']} {name.replace('_', ' ')}" for name, found in _findings(data)]
    parts += [f"{data['extra_rows']} extra rows"] if data["extra_rows"] else []
    parts += [f"{found['count']} {_effect_words(name)}" for name, found in effect_findings(line).items()]
    parts += _effect_costs(line)
    old = _old_code(data)
    parts += [f"{old['count']} made by old code up to {data['old_code_s']:.1f} s later"] if old else []
    parts += ["said it was done"] if data["false_done"] else []
    parts += [line["ending"].replace("_", " ")] if line["ending"] != "finished" else []
    parts += [f"{traffic['requests']} requests, {traffic['repeated']} repeated"]
    parts += [_left_behind(line["processes"])] if any(line["processes"].values()) else []
    parts += ["running it again changed its rows" + _or_effects(line)] if data["not_idempotent"] else []
    return f"{line['outcome']}  {line['subject']}  {'; '.join(parts)}"


def _or_effects(line: Line) -> str:
    return " or effects" if line.get("effects") else ""


def _effect_words(name: str) -> str:
    """A finding about effects in words: `webhooks twice`."""
    return name.replace(".", " ")


def _effect_costs(line: Line) -> list[str]:
    """What was done beyond need and did no harm."""
    return [
        f"{count} {kind} {name}"
        for kind, found in (line.get("effects") or {}).items()
        for name, count in found.items()
        if isinstance(count, int) and count
    ]


def _findings(data: Line) -> list[tuple[str, Line]]:
    """The findings that hold a key, in their order; a line from before a finding was invented lacks it."""
    return [(name, data[name]) for name in FINDINGS if name in data and data[name]["count"]]


def _old_code(data: Line) -> Line | None:
    """The rows of old code, a cost; None without any, and in a line from before they were counted."""
    found: Line | None = data.get("old_code")
    return found if found and found["count"] else None


_LEFT = {
    "orphans": ("orphan process", "orphan processes"),
    "zombies": ("zombie process", "zombie processes"),
    "ports": ("open port", "open ports"),
}


def _left_behind(processes: dict[str, int]) -> str:
    words = [f"{count} {_LEFT[kind][count != 1]}" for kind, count in processes.items() if count]
    return f"{' and '.join(words)} left behind"


def verdict_lines(line: Line, folder: Path) -> list[str]:
    """The verdict with what, where, evidence and the command that reproduces it."""
    told = [headline(line)]
    if line["cause"] == "control":
        told.append("      it fails without any fault (its control does): no kill is to blame")
    if line["problem"] and line["data"] is not None:
        told.append(f"      {line['problem']}")
    if line.get("ending_detail"):
        told.append(f"      {_ENDINGS[line['ending']]}: {line['ending_detail']}")
    told += [f"      {_fault_words(fault)}" for fault in line["faults"]]
    if line["data"] is not None:
        told += [f"      {name}: {_keys(found)}" for name, found in _findings(line["data"])]
        old = _old_code(line["data"])
        told += [f"      old_code: {_keys(old)}"] if old else []
        told += [f"      {name}: {_keys(found)}" for name, found in effect_findings(line).items()]
    told += [f"      {words}" for words in lapse_lines(line)]
    if line["evidence"]:
        told.append(f"      evidence:  {folder / line['evidence']}/")
    told.append(f"      reproduce: {line['reproduce']}")
    return told


_ENDINGS = {
    "crash_loop": "before every crash it had last requested",
    "hung": "hung",
    "refused_start": "refused start",
}
_WINDOWS = {"between": "; between an answer and its row", "commit": "; in the middle of a write to its store"}


def _fault_words(fault: dict[str, Any]) -> str:
    if fault["status"] == "not_reached":
        return f"{fault['planned']}: not reached"
    where = ", ".join(fault["in_flight"]) or "no request in flight"
    where += _WINDOWS.get(fault["window"], "")
    note = {"before_first_request": ", before its first request", "escalated": ", then SIGKILL after the grace time"}
    when = f"incarnation {fault['incarnation']} at {fault['struck_s']:.3f} s{note.get(fault['status'], '')}"
    return f"{fault['planned']}: struck {when} ({where})"


def _keys(found: dict[str, Any]) -> str:
    shown = [f"{key} ({detail})" for key, detail in list(found["keys"].items())[:5]]
    more = found["count"] - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
