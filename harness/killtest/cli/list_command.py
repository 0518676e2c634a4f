"""`killtest list`: the subjects and campaigns that come with killtest."""

import textwrap

import click
import msgspec

from killtest.plan import campaign, subject


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(as_json: bool) -> int:
    """List the subjects and campaigns that come with killtest."""
    subjects = [subject.find(name) for name in subject.names()]
    campaigns = [campaign.load(path) for path in sorted(subject.data_folder("campaigns").glob("*.toml"))]
    if as_json:
        table = {
            "subjects": [{"name": s.name, "title": s.title, "variants": list(s.variants)} for s in subjects],
            "campaigns": [{"name": c.name, "title": c.title} for c in campaigns],
        }
        click.echo(msgspec.json.encode(table).decode())
        return 0
    width = max(map(len, [*subject.names(), *(spec.name for spec in campaigns)]))
    for who in subjects:
        click.echo(f"{who.name:{width}} {who.title}")
        if who.variants:
            click.echo(_variants(list(who.variants), " " * (width + 1)))
    click.echo()
    for spec in campaigns:
        click.echo(f"{spec.name:{width}} {spec.title}")
    return 0


def _variants(names: list[str], blank: str) -> str:
    """The names behind the colon of `killtest run SUBJECT:VARIANT`, in as few lines as they need."""
    return textwrap.fill(f":{' :'.join(names)}", 118, initial_indent=blank, subsequent_indent=blank)
