"""The subject of a stored trial, which its reproduce command names."""

import shlex
from pathlib import Path
from typing import Any

import click
import msgspec

from killtest.campaigns.stored_trial import StoredTrial
from killtest.cli import run_command
from killtest.cli.subject_words import subject_of
from killtest.errors import UsageError
from killtest.plan import subject
from killtest.plan.manifest import Subject, within


def subject_for(trial: StoredTrial, words: tuple[str, ...], options: dict[str, Any]) -> Subject:
    """The subject that the command line names behind the trial, or else the one that the trial was of.

    UsageError when that one is not there any more, or can't be run.
    """
    who = within(trial.spec.total_s, subject_of(words, options) if words or options["store"] else _of_old(trial))
    subject.check_runnable(who)
    return who


def _check_folder(trial: StoredTrial) -> None:
    """Relative words of a command mean the files of the folder that killtest was started in."""
    try:
        then = msgspec.json.decode((trial.campaign / "environment.json").read_bytes()).get("folder")
    except (OSError, msgspec.DecodeError, AttributeError):
        return
    if then is not None and Path(then) != Path.cwd():
        raise UsageError(f"its command was given in {then}, whose files it names: start from there")


def _of_old(trial: StoredTrial) -> Subject:
    words = shlex.split(trial.line["reproduce"])[2:]
    try:
        params = run_command.command.make_context("run", words).params
        if params["store"]:
            _check_folder(trial)
        return subject_of(params["words"], params)
    except (UsageError, click.ClickException) as error:
        text = error.message if isinstance(error, click.ClickException) else str(error)
        raise UsageError(
            f"{trial.place}: its subject is not there any more: {text}; name it behind the trial"
        ) from None
