"""`killtest site`: the shop alone, to look at and to try a crawler against."""

import os
import sys

import click
import msgspec

from killtest.cli.run_command import site_changes
from killtest.plan.campaign import site_of
from killtest.plan.manifest import SiteNeeds


@click.command("site")
@click.option("--port", default=0, show_default="a free one", type=click.IntRange(0, 65535))
@click.option(
    "--site", "site_words", multiple=True, metavar="KEY=VALUE", help="Change the shop: latency_ms=3, list_pages=3."
)
def command(port: int, site_words: tuple[str, ...]) -> int:
    """Serve the shop until Ctrl-C. The ready line on stdout names its URL."""
    needs = site_of(SiteNeeds(), site_changes(site_words), "--site")
    words = [f"--{key.replace('_', '-')}={value}" for key, value in msgspec.to_builtins(needs).items()]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "killtest_testsite", *words, f"--port={port}"])
