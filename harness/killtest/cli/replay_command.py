"""`killtest replay`: a stored schedule again, and how often it gives the same."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from killtest.campaigns import stored_trial
from killtest.campaigns.campaign_folder import CampaignFolder, numbered
from killtest.campaigns.progress import progress_for
from killtest.cli.run_command import EXIT_CODES, site_changes
from killtest.cli.stored_subject import subject_for
from killtest.cli.subject_words import store_options, subject_of
from killtest.errors import UsageError
from killtest.plan import campaign, schedule, subject
from killtest.plan.suitability import check_faults
from killtest.replay import replay_run
from killtest.replay.replay_run import Order


@click.command("replay")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="TRIAL | FILE [SUBJECT] [-- COMMAND…]")
@click.option("-n", "times", default=10, show_default=True, type=click.IntRange(1), help="How often.")
@click.option("--site", "site_words", multiple=True, metavar="KEY=VALUE", help="For a schedule alone: change the shop.")
@store_options
@click.option("--controls", default=2, show_default=True, type=click.IntRange(0), help="Fault-free runs judged first.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Trials side by side.")
@click.option(
    "--results", default="results", show_default=True, type=click.Path(path_type=Path), help="Where campaigns go."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(words: tuple[str, ...], **options: Any) -> int:
    """Run the schedule of TRIAL again, and say how many runs gave the same outcome, ending and findings.

    TRIAL is results/CAMPAIGN/trials/ID, or results/CAMPAIGN#SCHEDULE, or #ID; subject and shop are those of then. FILE
    is a schedule.json alone; the subject stands behind it. Ends like run, with the worst outcome of all runs: 0 PASS,
    1 FAIL, 2 usage, 3 UNKNOWN.
    """
    if not words:
        raise UsageError("name a trial's folder, CAMPAIGN#SCHEDULE, or a schedule.json and a subject")
    order = _order(words[0], words[1:], options)
    folder = CampaignFolder(numbered(options["results"], f"replay-{order.subject.name}"))
    try:
        with progress_for(Console(stderr=True)) as watcher:
            found = replay_run.run(order, folder, watcher)
    finally:
        folder.close()
    if options["as_json"]:
        told = replay_run.as_json(found, order.stored) | {"campaign": str(folder.path)}
        click.echo(msgspec.json.encode(told).decode())
    else:
        click.echo("\n".join([*replay_run.words(found, order.stored), f"      evidence:  {folder.path}/"]))
    return EXIT_CODES[found.outcome]


def _order(word: str, words: tuple[str, ...], options: dict[str, Any]) -> Order:
    argv = ["killtest", *sys.argv[1:]]
    numbers = {name: options[name] for name in ("times", "controls", "jobs")}
    names_subject = bool(words or options["store"])
    if word.endswith(".json") and (names_subject or not (Path(word).parent / "course.json").is_file()):
        faults = schedule.read(Path(word)).faults
        if not names_subject:
            raise UsageError(f"{word}: a schedule alone does not say whose it is; name the subject behind it")
        who = subject_of(words, options)
        subject.check_runnable(who)
        site = site_changes(options["site_words"])
        check_faults(faults, who, campaign.site_of(who.site, site, "--site"), word)
        order = Order(who, faults, None, site, argv=argv, **numbers)
    else:
        if options["site_words"]:
            raise UsageError(f"--site goes with a schedule.json and a subject; the shop of {word} is that of then")
        stored = stored_trial.find(word)
        who = subject_for(stored, words, options)
        order = Order(who, stored.schedule.faults, stored, stored.spec.site, argv=argv, **numbers)
    if not order.faults:
        raise UsageError(f"{word}: there is no fault in it; killtest run repeats a control")
    return order
