"""`killtest shrink`: a failing trial, to the fewest faults and the simplest triggers that still do it."""

import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from killtest.campaigns import answer, stored_trial
from killtest.campaigns.answer import Answer
from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.campaigns.stored_trial import StoredTrial
from killtest.cli.stored_subject import subject_for
from killtest.cli.subject_words import store_options
from killtest.errors import UsageError
from killtest.shrink import reproduction, shrink_run
from killtest.shrink.budget import Rule
from killtest.shrink.hit import hits_of
from killtest.shrink.reproduction import Finding
from killtest.shrink.search import Faults
from killtest.shrink.shrink_run import Found, Order


@click.command("shrink")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="TRIAL [SUBJECT] [-- COMMAND…]")
@click.option("--runs", default=60, show_default=True, type=click.IntRange(1), help="Runs at the most.")
@click.option(
    "--seconds", default=300.0, show_default=True, type=click.FloatRange(0, min_open=True), help="No run starts later."
)
@click.option("--rule", metavar="M/R", help="M of R runs must agree.  [default: 2/3 with timers, else 1/1]")
@click.option("--same-keys", is_flag=True, help="The findings must have the same keys, not only the same names.")
@store_options
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], **options: Any) -> int:
    """Shrink the schedule of TRIAL, which failed, to what still gives the same outcome and the same findings.

    Timers become the requests they hit, faults that don't matter go (delta debugging), triggers become simpler. The
    result is printed, and written as a stand-alone folder: results/shrink-SUBJECT-NNN/repro. Ends with 0 when there is
    one, also when the budget was used up before the end, with 3 when the findings did not come again, with 2 on usage.
    """
    if not words:
        raise UsageError("name a failed trial: its folder, or CAMPAIGN#SCHEDULE")
    stored = _failed(words[0])
    order = _order(stored, words[1:], options)
    folder = CampaignFolder(numbered(options["results"], f"shrink-{order.subject.name}"))
    try:
        found = shrink_run.run(order, folder, _silent if options["as_json"] else _tell)
        if found.line is not None and found.answer is not None:
            _write(order, found, folder.path)
    finally:
        folder.close()
    if options["as_json"]:
        click.echo(msgspec.json.encode(_json(found, folder.path)).decode())
    else:
        click.echo("\n".join(_words(stored, found, folder.path)))
    return 3 if found.line is None else 0


def _failed(word: str) -> StoredTrial:
    """The trial, if there is anything to shrink."""
    if word.endswith(".json") and not (Path(word).parent / "course.json").is_file():
        raise UsageError(
            f"{word}: a schedule alone has no findings: killtest run SUBJECT --schedule {word}, then shrink"
        )
    stored = stored_trial.find(word)
    line = stored.line
    if stored.answer.outcome != "FAIL":
        raise UsageError(f"{stored.place}: {stored.answer.outcome}: there is no finding to shrink to")
    if line["cause"] == "control":
        raise UsageError(f"{stored.place}: it fails without any fault (its control does): no kill is to blame")
    if stored.evidence is None:
        raise UsageError(f"{stored.place}: its evidence is gone, and with it where the faults struck; run it again")
    return stored


def _order(stored: StoredTrial, words: tuple[str, ...], options: dict[str, Any]) -> Order:
    assert stored.evidence is not None
    return Order(
        subject=subject_for(stored, words, options),
        site=stored.spec.site,
        faults=stored.schedule.parsed(),
        hits=hits_of(stored.evidence),
        goal=stored.answer,
        argv=["killtest", *sys.argv[1:]],
        runs=options["runs"],
        seconds=options["seconds"],
        same_keys=options["same_keys"],
        rule=_rule(options["rule"]),
    )


def _rule(word: str | None) -> Rule | None:
    if word is None:
        return None
    found = re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", word)
    if found is None or int(found[1]) > int(found[2]):
        raise UsageError(f"--rule {word!r}: wants M/R, how many of how many runs, for example 2/3")
    return Rule(int(found[1]), int(found[2]))


def _write(order: Order, found: Found, folder: Path) -> None:
    assert found.line is not None
    assert found.answer is not None
    faults = tuple(found.line["schedule"]["faults"])
    finding = Finding(order.subject, dict(order.site), faults, found.line, found.answer, found.shrunk.rule.text)
    reproduction.write(finding, folder / "repro", order.argv)


def _tell(number: int, faults: Faults, said: Answer, is_same: bool) -> None:
    verdict = "the same" if is_same else f"{said.outcome}, {answer.words([said])}"
    many = f"{len(faults)} fault{'s' if len(faults) != 1 else ''}"
    click.echo(f"[{number}] {many}: {_faults(faults)}: {verdict}", err=True)


def _silent(number: int, faults: Faults, said: Answer, is_same: bool) -> None:
    """With --json nothing is told on the way."""


def _faults(faults: Faults) -> str:
    shown = ", then ".join(fault.text for fault in faults[:3])
    return shown + (f" and {len(faults) - 3} more" if len(faults) > 3 else "")


def _words(stored: StoredTrial, found: Found, folder: Path) -> list[str]:
    cost = f"{found.runs} runs, {found.seconds:g} s"
    if found.line is None or found.answer is None:
        why = "did not come again" if found.shrunk.is_complete else "did not come again within the budget"
        return [
            f"{stored.line['subject']}: {answer.words([stored.answer])}: {why} ({cost})",
            f"      how often it does: killtest replay {stored.place}",
            f"      evidence:  {folder}/",
        ]
    faults = found.line["schedule"]["faults"]
    told = [f"{len(stored.schedule.faults)} faults to {len(faults)}  {stored.line['subject']}  ({cost})"]
    if not found.shrunk.is_complete:
        told.append("      the budget was used up: this is the best so far (--runs, --seconds)")
    told += [f"      {fault}" for fault in faults]
    told.append(f"      {found.answer.outcome}: {answer.words([found.answer])}")
    told.append(f"      reproduce: sh {folder}/repro/repro.sh")
    return [*told, f"      draft of an issue: {folder}/repro/issue.md"]


def _json(found: Found, folder: Path) -> dict[str, Any]:
    return {
        "schema": 1,
        "faults": found.line["schedule"]["faults"] if found.line else None,
        "answer": found.answer,
        "complete": found.shrunk.is_complete,
        "rule": found.shrunk.rule.text,
        "runs": found.runs,
        "seconds": found.seconds,
        "repro": str(folder / "repro") if found.line else None,
        "campaign": str(folder),
    }
