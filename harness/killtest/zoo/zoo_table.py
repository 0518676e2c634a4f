"""The zoo as a table, and each difference with its evidence and the command that reproduces it."""

from collections.abc import Sequence
from typing import Any

from killtest.campaigns.trial_line import Line
from killtest.report.table import Table
from killtest.zoo.difference import observed_words
from killtest.zoo.zoo_run import Program, Visit

_HEADINGS = ("kind", "what goes wrong", "schedule", "verdict of the bug", "verdict of the twin", "as expected")


def table(visits: Sequence[Visit], runs: int) -> Table:
    """One row per animal; of several runs the verdicts are those of the first that differs, or of the first."""
    agreeing = sum(visit.agrees for visit in visits)
    each = "once" if runs == 1 else f"{runs} times"
    caption = f"{agreeing} of {len(visits)} animals as expected, bug and twin run {each} each behind a control."
    return Table("zoo", "The bug zoo", caption, _HEADINGS, tuple(map(_row, visits)), empty="no animals")


def _row(visit: Visit) -> tuple[str, ...]:
    who = visit.animal
    schedule = ", then ".join(who.expected.faults) or "no fault"
    verdicts = (observed_words(_shown(program), program.control) for program in (visit.bug, visit.sound))
    return (who.kind, who.bug.title, schedule, *verdicts, "yes" if visit.agrees else "NO")


def _shown(program: Program) -> Line:
    differing = [trial for trial, found in zip(program.trials, program.found, strict=True) if found]
    return (differing or list(program.trials))[0]


def differing(visit: Visit) -> list[str]:
    """For each trial that came out otherwise: what was expected, what came out, evidence and the command."""
    told = []
    for which, program in (("bug", visit.bug), ("twin", visit.sound)):
        for number, (trial, found) in enumerate(zip(program.trials, program.found, strict=True), 1):
            if found:
                run = f", run {number} of {len(program.trials)}" if len(program.trials) > 1 else ""
                told.append(f"{visit.animal.kind}, the {which}{run}:")
                told += [f"      {difference}" for difference in found]
                told.append(f"      evidence:  {visit.place / trial['evidence']}/")
                told.append(f"      reproduce: {trial['reproduce']}")
    return told


def as_json(visits: Sequence[Visit]) -> dict[str, Any]:
    """What --json prints: every animal with the lines of its trials and their differences."""
    return {"animals": [_animal(visit) for visit in visits], "agrees": all(visit.agrees for visit in visits)}


def _animal(visit: Visit) -> dict[str, Any]:
    programs = {"bug": _program(visit.bug), "sound": _program(visit.sound)}
    evidence = None if visit.agrees else str(visit.place)
    faults = visit.animal.expected.faults
    return {"kind": visit.animal.kind, "faults": faults, "agrees": visit.agrees, "evidence": evidence, **programs}


def _program(program: Program) -> dict[str, Any]:
    return {
        "agrees": program.agrees,
        "differences": [[one._asdict() for one in found] for found in program.found],
        "control": program.control,
        "trials": program.trials,
    }
