"""How a command line names its subject: by name or path, or by a store and a command without a manifest."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from killtest.errors import UsageError
from killtest.plan import subject
from killtest.plan.manifest import Subject

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--store",
        metavar="READER:PATH",
        help="Without a manifest: sqlite:crawl.db, jsonl:out.jsonl, csv:out.csv, json:out.json, files:*.html.",
    ),
    click.option(
        "--key",
        help="With jsonl, csv, json: the column that is the natural key; with files: a pattern that catches it.",
    ),
    click.option(
        "--key-from", type=click.Choice(["path", "content"]), default="path", help="With files: where --key looks."
    ),
    click.option("--delimiter", default=",", help=r"With csv: what stands between two fields; \t is a tab."),
    click.option("--query", help="With sqlite: a SELECT that gives `key` and the fields to compare."),
)


def store_options(command: Command) -> Command:
    """Give a command the options --store, --key, --key-from, --delimiter and --query."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def subject_of(words: tuple[str, ...], options: dict[str, Any]) -> Subject:
    """The subject that a command line names, or makes of --store, --key, --query and a command."""
    if options["store"]:
        return store_subject(words, options)
    if options["key"] or options["query"]:
        raise UsageError("--key and --query go with --store; a subject with a manifest says both there")
    if len(words) != 1:
        raise UsageError("name one subject (killtest list), or give --store READER:PATH and a command behind --")
    return subject.find(words[0])


def store_subject(words: tuple[str, ...], options: dict[str, Any]) -> Subject:
    """The subject that --store, its companions and a command make."""
    said = (options[name] for name in ("store", "key", "query", "key_from", "delimiter"))
    return subject.from_command(words, *said)
