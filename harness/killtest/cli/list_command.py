"""`killtest list`: the subjects and campaigns that come with killtest."""

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
    for who in subjects:
        variants = "".join(f"\n{'':16} variant {who.name}:{name}" for name in who.variants)
        click.echo(f"{who.name:16} {who.title}{variants}")
    click.echo()
    for spec in campaigns:
        click.echo(f"{spec.name:16} {spec.title}")
    return 0
