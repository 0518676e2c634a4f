"""`killtest init`: from a command that crawls to a manifest, a budget and a CI snippet."""

import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from killtest.campaigns import trial_line
from killtest.campaigns.campaign_folder import write_whole
from killtest.campaigns.story import verdict_lines
from killtest.campaigns.trial_line import Line
from killtest.cli.subject_words import store_options, store_subject
from killtest.errors import UsageError
from killtest.judge.truth import FIELDS
from killtest.plan import manifest, subject
from killtest.plan.manifest import StoreNeeds
from killtest.starter import starter_files, trial_crawl
from killtest.starter.starter_files import BUDGET, MANIFEST, WORKFLOW
from killtest.starter.trial_crawl import SHOP, Crawl

_WHERE = {
    MANIFEST: "how it is started and read; keep it",
    BUDGET: "what the gate lets pass; keep it",
    WORKFLOW: "for GitHub Actions: move it to .github/workflows/killtest.yml",
}


@click.command("init")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@store_options
@click.option("--name", help="What to call the crawler; otherwise it is called after its command.")
@click.option("--force", is_flag=True, help="Write over the files of an earlier init.")
@click.option("--yes", is_flag=True, help="Ask nothing, take what is proposed.")
def command(words: tuple[str, ...], force: bool, yes: bool, **options: Any) -> int:
    """Write a manifest for your crawler: subject.toml, budget.toml and killtest-ci.yml, in this folder.

    COMMAND is run once, undisturbed, on a small shop; {site_url} in it becomes the shop's address. How to read what
    it stored is then proposed, unless --store says it; in a terminal you are asked. Ends with 1 when the files are
    written but the crawler fails even without a fault, with 2 when nothing could be written.
    """
    _refuse_to_overwrite(force)
    if options["store"] is None and (options["key"] or options["query"]):
        raise UsageError("--key and --query go with --store; without it all of them are proposed")
    asks = sys.stdin.isatty() and not yes
    chosen = words or _ask_command(asks)
    name = options["name"] or _ask_name(subject.name_of(chosen), asks)
    who = trial_crawl.subject_of(chosen, name)
    subject.check_runnable(who)
    given = _given(chosen, options)
    with tempfile.TemporaryDirectory(prefix="killtest-init-") as folder:
        click.echo(f"one undisturbed crawl of a shop with {SHOP.products} products …", err=True)
        done = trial_crawl.crawl(who, Path(folder) / "trial")
        _refuse(trial_crawl.trouble(done))
        needs = given or _proposed(done, options["store"], asks, yes)
        taken = done.read(needs)
        _refuse(trial_crawl.store_trouble(done, needs, taken))
        line = trial_crawl.judge(done, taken)
        compared = {name for row in taken.rows for name in row.values} & set(FIELDS)
    _write(name, chosen, needs, line)
    _tell(line, sorted(compared))
    return int(line["outcome"] != "PASS")


def _refuse_to_overwrite(force: bool) -> None:
    there = [name for name in _WHERE if Path(name).exists()]
    if there and not force:
        raise UsageError(f"{', '.join(there)}: already in this folder; --force writes over it")


def _refuse(complaint: str | None) -> None:
    if complaint is not None:
        raise UsageError(complaint)


def _ask_command(asks: bool) -> tuple[str, ...]:
    example = "node crawl.js {site_url}"
    if not asks:
        raise UsageError(f"no command: put it behind --, for example: killtest init -- {example}")
    return tuple(shlex.split(click.prompt(f"What starts the crawler? For example {example}\nCommand", err=True)))


def _ask_name(proposed: str, asks: bool) -> str:
    return str(click.prompt("What to call it", default=proposed, err=True)) if asks else proposed


def _given(chosen: tuple[str, ...], options: dict[str, Any]) -> StoreNeeds | None:
    """The store, when the options say all of it."""
    if options["store"] is None or not (options["key"] or options["query"]):
        if options["store"] is not None:
            _reader_of(options["store"])
        return None
    return store_subject(chosen, options).store


def _reader_of(store: str) -> str:
    reader, _ = subject.reader_and_path(store)
    if reader not in manifest.FILE_READERS:
        raise UsageError(f"--store {store!r}: reader {reader!r} is unknown; built: {', '.join(manifest.FILE_READERS)}")
    return reader


def _proposed(done: Crawl, store: str | None, asks: bool, yes: bool) -> StoreNeeds:
    """The best guess, once it has been agreed to; else what the user says."""
    guesses = [one for one in done.guesses() if store in (None, f"{one.reader}:{one.path}")]
    if guesses and (yes or store):
        return guesses[0]
    if not asks:
        raise UsageError(_how_to_say(done, store, guesses[0] if guesses else None))
    for guess in guesses[:1]:
        click.echo(f"It looks as if it could be read like this:\n  {_flags(guess)}", err=True)
        if click.confirm("Take that", default=True, err=True):
            return guess
    return _ask_store(done, store)


def _how_to_say(done: Crawl, store: str | None, guess: StoreNeeds | None) -> str:
    if guess is not None:
        return f"--store is missing; it looks like {_flags(guess)}: give that, or --yes to take it"
    if store is not None:
        reader, path = subject.reader_and_path(store)
        choice = done.columns(StoreNeeds(reader, path, key="key"))
        what = "--query is" if reader == "sqlite" else "--key is"
        return f"{what} missing, and no column of {store} has the shop's keys ({choice or 'nothing can be read there'})"
    return (
        f"nothing that it stored has the shop's keys ({', '.join(sorted(done.keys)[:2])}, …) where killtest can find "
        f"them. There is: {', '.join(done.files[:10])}. Say how to read it: --store READER:PATH with --key or --query"
    )


def _ask_store(done: Crawl, store: str | None) -> StoreNeeds:
    click.echo(f"It left: {', '.join(done.files[:10])}", err=True)
    text = store or click.prompt(f"Store, as READER:PATH ({', '.join(manifest.FILE_READERS)})", err=True)
    reader, path = subject.reader_and_path(text)
    delimiter = click.prompt("Delimiter", default=",", err=True) if reader == "csv" else ","
    there = StoreNeeds(reader, path, key="key", delimiter=delimiter.replace("\\t", "\t"))
    click.echo(f"There is: {done.columns(there) or 'nothing that can be read'}", err=True)
    if _reader_of(text) == "sqlite":
        needs = StoreNeeds(
            reader, path, query=click.prompt("Query, a SELECT that gives `key` and the fields to compare", err=True)
        )
    elif reader == "files":
        place = click.prompt("Key from", type=click.Choice(["path", "content"]), default="path", err=True)
        key = click.prompt("Key, a pattern with one group", err=True)
        needs = StoreNeeds(reader, path, key=key, key_from="content" if place == "content" else "path")
    else:
        key = click.prompt("Key, the column that is the natural key", err=True)
        needs = msgspec.structs.replace(there, key=key)
    manifest.check_store(needs, "--store")
    return needs


def _flags(needs: StoreNeeds) -> str:
    return shlex.join(trial_line.store_words(needs))


def _write(name: str, chosen: tuple[str, ...], needs: StoreNeeds, line: Line) -> None:
    texts = {
        MANIFEST: starter_files.manifest(name, chosen, needs, SHOP),
        BUDGET: starter_files.budget(name, line["traffic"]["requests"]),
        WORKFLOW: starter_files.workflow(),
    }
    for file, text in texts.items():
        write_whole(Path(file), text.encode())
    manifest.load(Path(MANIFEST))  # what is written can be read


def _tell(line: Line, compared: list[str]) -> None:
    command_line = './subject.toml --fault "request:25 KILL"'
    told = verdict_lines(line | {"evidence": None, "reproduce": f"killtest run ./{MANIFEST}"}, Path())
    click.echo("\n".join(told if line["outcome"] != "PASS" else told[:1]))
    click.echo(f"      compared with the shop: the key{''.join(f', {name}' for name in compared)}")
    for file, what in _WHERE.items():
        click.echo(f"wrote {file:16} {what}")
    if line["outcome"] != "PASS":
        click.echo("It fails without any fault: mend that first, no kill is to blame.")
    else:
        click.echo(f"Now kill it:\n  killtest run {command_line}")
