"""`killtest judge`: today's oracle on yesterday's evidence."""

from pathlib import Path

import click
import msgspec

from killtest.campaigns import ledger
from killtest.campaigns.campaign_run import control_of, judge_again
from killtest.campaigns.trial_line import Line
from killtest.cli.run_command import EXIT_CODES
from killtest.errors import UsageError
from killtest.judge.verdict import worst
from killtest.plan.manifest import StoreNeeds, Subject


@click.command("judge")
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(campaign: Path, as_json: bool) -> int:
    """Judge the kept evidence of CAMPAIGN, a folder of results, again. Nothing stored is changed."""
    lines = ledger.read(campaign / "trials.jsonl")
    kept = [line for line in lines if (campaign / "trials" / line["id"] / "course.json").is_file()]
    if not kept:
        raise UsageError(f'{campaign}: no evidence was kept; a campaign keeps all of it with keep = "always"')
    judged = [_judge(campaign, line, lines) for line in kept]
    if as_json:
        click.echo(msgspec.json.encode({"campaign": str(campaign), "trials": judged}).decode())
    else:
        for one in judged:
            drift = "" if one["outcome"] == one["before"] else f"   was {one['before']}"
            click.echo(f"{one['outcome']:8} {one['id']}{drift}")
        click.echo(f"{len(kept)} of {len(lines)} trials had evidence")
    return EXIT_CODES[worst([one["outcome"] for one in judged])]


def _judge(campaign: Path, line: Line, lines: list[Line]) -> Line:
    who = Subject(line["subject"], ("-",), StoreNeeds("", ""), variant=line["variant"])
    control = None if line["control"] else control_of(who, lines)
    found, verdict = judge_again(campaign, line, control)
    return {
        "id": line["id"],
        "before": line["outcome"],
        "verdict": msgspec.to_builtins(verdict),
        "outcome": verdict.outcome,
        "jobdirs": [found.jobdirs.get(one.number) for one in found.course.incarnations],
    }
