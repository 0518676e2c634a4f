"""`killtest gate`: a campaign judged against a budget and a baseline, for CI."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from killtest.campaigns import campaign_run, ledger
from killtest.campaigns.campaign_folder import SPEC, CampaignFolder, move_aside, stored_spec
from killtest.campaigns.progress import progress_for
from killtest.campaigns.trial_line import Line
from killtest.cli.explore_command import Told
from killtest.cli.run_command import EXIT_CODES, site_changes
from killtest.cli.subject_words import store_options, subject_of
from killtest.errors import UsageError
from killtest.gate import baseline, breach, budget, gate_files
from killtest.gate.annotations import annotations
from killtest.gate.budget import Budgets
from killtest.gate.completeness import missing
from killtest.gate.default_campaign import campaign_text, default_campaign
from killtest.gate.explored import explored, explored_note
from killtest.gate.judgement import Judgement, judge, overall
from killtest.plan import subject
from killtest.plan.campaign import Spec
from killtest.plan.fingerprint import fingerprint
from killtest.plan.manifest import Subject

_RUN_OPTIONS = ("site_words", "jobs", "fresh", "store", "key", "query")
_CORES_USED = 2


@click.command("gate")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SUBJECT | CAMPAIGN [-- COMMAND…]")
@click.option(
    "--budget", "budget_file", metavar="FILE", type=click.Path(path_type=Path), help="Limits; default: none bad."
)
@click.option(
    "--baseline", "before", metavar="DIR", type=click.Path(path_type=Path), help="An earlier campaign to compare with."
)
@click.option(
    "--site", "site_words", multiple=True, metavar="KEY=VALUE", help="Change the shop of 3 list pages, 30 products."
)
@store_options
@click.option(
    "--jobs", type=click.IntRange(1), show_default="cores, at most 2", help="Trials side by side; controls run alone."
)
@click.option("--fresh", is_flag=True, help="Start anew; an unfinished run is moved aside.")
@click.option("--explore/--no-explore", "explores", default=True, help="Visit durable steps as well, where possible.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--annotations", "annotate", is_flag=True, help="GitHub annotations, also outside of GITHUB_ACTIONS.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], budget_file: Path | None, before: Path | None, **options: Any) -> int:
    """Judge SUBJECT, or CAMPAIGN, a folder of results that is there already: 0 PASS, 1 FAIL, 2 usage, 3 UNKNOWN.

    SUBJECT gets one kill at every held request and one after every response, with SIGKILL and with SIGINT, and a true
    kill wherever `killtest explore` finds a failing crash point, in results/gate-SUBJECT. Killed or interrupted, the
    same command goes on where it was; a finished run is moved aside. gate.md, junit.xml and benchmark.json are written
    into the campaign's folder whatever the answer.
    """
    budgets = budget.load(budget_file) if budget_file else Budgets()
    folder = _finished(words, options) or _run(words, options)
    judgement = _judge(folder, budgets, before)
    gate_files.write(judgement, folder, os.environ)
    _tell(judgement, folder, options)
    return EXIT_CODES[judgement.outcome]


def _finished(words: tuple[str, ...], options: dict[str, Any]) -> Path | None:
    """The folder of a campaign, if that is what is named."""
    if len(words) != 1 or not (Path(words[0]) / SPEC).is_file():
        return None
    given = ["--" + name.removesuffix("_words") for name in _RUN_OPTIONS if options[name]]
    if given:
        raise UsageError(f"{words[0]} is a campaign that has run: {', '.join(given)} can't change it any more")
    return Path(words[0])


def _run(words: tuple[str, ...], options: dict[str, Any]) -> Path:
    try:
        who = subject_of(words, options)
    except UsageError as error:
        hint = "" if options["store"] else f"; to judge a campaign, give its folder, which holds {SPEC}"
        raise UsageError(f"{error}{hint}") from None
    subject.check_runnable(who)
    changes, argv = site_changes(options["site_words"]), ["killtest", *sys.argv[1:]]
    path: Path = options["results"] / default_campaign(who, changes).name
    # A finished gate tells of the program as it was then: to go on from it would be to test nothing.
    if options["fresh"] or gate_files.are_written(path):
        move_aside(path)
    folder = CampaignFolder(path)
    try:
        jobs = options["jobs"] or min(_CORES_USED, os.cpu_count() or 1)
        console = Console(stderr=True)
        _refuse_another(folder, who, default_campaign(who, changes), argv)
        found = explored(who, changes, folder, argv, jobs, Told(console)) if options["explores"] else None
        spec = default_campaign(who, changes, found.rules() if found else ())
        folder.settle(campaign_text(spec, who), spec, argv)
        with progress_for(console) as watcher:
            campaign_run.run(spec, dict.fromkeys(spec.subjects, who), folder, watcher, jobs)
    finally:
        folder.close()
    return path


def _refuse_another(folder: CampaignFolder, who: Subject, spec: Spec, argv: list[str]) -> None:
    """Before anything is written: half a gate must not be finished with another program."""
    stored = folder.path / SPEC
    if stored.exists() and fingerprint(who) not in stored.read_text("utf-8"):
        folder.settle(campaign_text(spec, who), spec, argv)


def _judge(folder: Path, budgets: Budgets, before: Path | None) -> Judgement:
    spec, lines = stored_spec(folder), ledger.read(folder / "trials.jsonl")
    _refuse_strangers(budgets, lines)
    earlier, notes = _earlier(before)
    comparisons = baseline.compare(lines, earlier, budgets)
    if earlier and not comparisons:
        notes = [f"baseline {before}: no trial there has the name and the faults of one of these; nothing is compared"]
    note = explored_note(folder)
    notes = [*notes, *([note] if note else [])]
    judged = judge(spec.name, lines, budgets, missing(spec, lines), comparisons)
    return msgspec.structs.replace(judged, notes=notes)


def _refuse_strangers(budgets: Budgets, lines: Sequence[Line]) -> None:
    """A budget under a name that no subject has is a slip of the pen: it would loosen or tighten nothing."""
    known = {line["subject"] for line in lines} | {f"{line['subject']}:{line['variant']}" for line in lines}
    strange = sorted(set(budgets.subjects) - known)
    if strange and lines:
        raise UsageError(f"budget: no subject is called {', '.join(strange)}; there are: {', '.join(sorted(known))}")


def _earlier(before: Path | None) -> tuple[list[Line], list[str]]:
    """The baseline's lines; none, and a note, where there is no baseline yet, which is no failure."""
    if before is None:
        return [], []
    if not (before / "trials.jsonl").exists():
        return [], [f"baseline {before}: not there yet; nothing is compared"]
    return ledger.read(before / "trials.jsonl"), []


def _tell(judgement: Judgement, folder: Path, options: dict[str, Any]) -> None:
    as_json = options["as_json"]
    if os.environ.get("GITHUB_ACTIONS") == "true" or options["annotate"]:
        # The runner reads both streams; with --json, stdout belongs to the one object.
        for text in annotations(judgement, str(folder)):
            click.echo(text, err=as_json)
    if as_json:
        click.echo(_json(judgement, folder))
        return
    for one in judgement.breaches:
        click.echo(breach.words(one, str(folder)))
    for note in judgement.notes:
        click.echo(note)
    for comparison in judgement.comparisons:
        click.echo(f"{comparison.subject}  {comparison.metric}  {comparison.words()}")
    click.echo(overall(judgement))
    click.echo(f"written: {', '.join(str(folder / name) for name in gate_files.FILES)}")


def _json(judgement: Judgement, folder: Path) -> str:
    subjects = [
        {"subject": one.subject, "expect": one.expect, "trials": len(one.trials), "failed": len(one.failed)}
        | {"struck": one.struck, "windows": one.windows}
        for one in judgement.tallies
    ]
    told = {"campaign": judgement.campaign, "outcome": judgement.outcome, "breaches": judgement.breaches}
    told |= {"subjects": subjects, "baseline": judgement.comparisons, "notes": judgement.notes}
    told |= {"overall": overall(judgement), "files": [str(folder / name) for name in gate_files.FILES]}
    return msgspec.json.encode(told).decode()
