"""Find a subject by name, by path, or make one of a command line."""

import importlib.metadata
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from packaging.requirements import Requirement

from killtest.errors import UsageError
from killtest.plan.manifest import StoreNeeds, Subject, check_store, load
from killtest.process.server_kind import kind_of
from killtest.store import postgres

MANIFEST = "subject.toml"


def data_folder(kind: str) -> Path:
    """The folder `crawlers` or `campaigns`: of the checkout where there is one, else of the installed wheel.

    An editable install copies the wheel's data once and never again, so the checkout comes first.
    """
    here = Path(__file__).resolve().parents[1]
    checkout = here.parents[1]
    is_checkout = here.parent.name == "harness" and (checkout / "pyproject.toml").is_file()
    return (checkout if is_checkout else here / "data") / kind


def names() -> list[str]:
    """The reference subjects: the folders that hold a manifest."""
    return sorted(path.parent.name for path in data_folder("crawlers").glob(f"*/{MANIFEST}"))


def find(spec: str, near: Path = Path()) -> Subject:
    """The subject named by `spec`: NAME, NAME:VARIANT, a folder or a manifest, each with :VARIANT if wanted.

    A relative path is looked up in the folder `near`: that of the campaign file which names the subject.
    """
    name, colon, variant = spec.partition(":")
    path = near / name
    for candidate in (path / MANIFEST, path, data_folder("crawlers") / name / MANIFEST):
        if candidate.is_file() and (candidate.name == MANIFEST or candidate.suffix == ".toml"):
            return msgspec.structs.replace(load(candidate, variant if colon else None), source=name)
    raise UsageError(f"unknown subject {name!r}; there are: {', '.join(names())}, or give the path of a {MANIFEST}")


def from_command(
    command: Sequence[str],
    store: str,
    key: str | None,
    query: str | None,
    key_from: Literal["path", "content"] = "path",
    delimiter: str = ",",
) -> Subject:
    r"""A subject without a manifest: `store` is READER:PATH, relative words of the command are the caller's files.

    The `delimiter` \t, of two characters, is a tab: a shell's line bears that badly.
    """
    reader, path = reader_and_path(store)
    if not command:
        raise UsageError(
            "no command: put it behind --, for example: killtest run --store … -- node crawl.js {site_url}"
        )
    delimiter = delimiter.replace("\\t", "\t")
    needs = StoreNeeds(reader=reader, path=path, query=query, key=key, key_from=key_from, delimiter=delimiter)
    check_store(needs, "--store")
    return Subject(name=name_of(command), command=tuple(command), store=needs, folder=str(Path.cwd()))


def reader_and_path(store: str) -> tuple[str, str]:
    """The two halves of `--store READER:PATH`."""
    reader, colon, path = store.partition(":")
    if not colon or not path:
        raise UsageError(f"--store {store!r}: wants READER:PATH, for example jsonl:out.jsonl or sqlite:crawl.db")
    return reader, path


def name_of(command: Sequence[str]) -> str:
    """What to call a command: its last word that looks like a program, as far as a folder can bear it."""
    # A whole program as a word (`python -c …`) names nothing; a path may be long.
    words = [word for word in command if not word.startswith(("-", "{")) and len(Path(word).name) < 100]
    stem = Path(words[-1]).stem if words else ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in stem)
    return name.strip("-_")[:60] or "command"


def label_of(subject: Subject) -> str:
    """The subject's name with its variant, as tables and budgets call it."""
    return f"{subject.name}:{subject.variant}" if subject.variant else subject.name


def check_runnable(subject: Subject) -> None:
    """UsageError when its extra is not installed, a service has no server, or a command can't be executed."""
    missing = missing_of_extra(subject.extra) if subject.extra else []
    if missing:
        what = ", ".join(missing)
        raise UsageError(f"{subject.name} needs {what}, not installed here: pip install 'killtest[{subject.extra}]'")
    for service in subject.services:
        kind_of(service).require(subject.name)
    if subject.store.reader == "postgres":
        postgres.require(subject.name)
    for command in (subject.command, *filter(None, [subject.restart]), *subject.setup):
        program = command_line(command, subject.folder, {})[0]
        if shutil.which(program) is None:
            why = "is not executable" if Path(program).exists() else "is not there"
            raise UsageError(f"{subject.name}: can't execute {program!r}: it {why} (command: {' '.join(command)})")


def command_line(command: Sequence[str], folder: str, values: dict[str, str]) -> list[str]:
    """The words of a command with {python}, {site_url}, … filled in and files of `folder` made absolute."""
    known = {"python": sys.executable} | values
    return [fill(_absolute(word, folder), known) for word in command]


def _absolute(word: str, folder: str) -> str:
    candidate = Path(folder) / word
    try:
        is_file = bool(word) and not word.startswith(("-", "/")) and candidate.is_file()
    except (OSError, ValueError):  # a whole program as a word: too long for a name
        is_file = False
    return str(candidate) if is_file else word


def fill(word: str, values: dict[str, str]) -> str:
    """The word with {NAME} replaced by each value."""
    # Not str.format: a crawler's own words may hold braces.
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def missing_of_extra(extra: str) -> list[str]:
    """The packages of killtest's pip extra `extra` that are not installed here."""
    wanted = [Requirement(text) for text in importlib.metadata.requires("killtest") or ()]
    names_of_extra = [r.name for r in wanted if r.marker and r.marker.evaluate({"extra": extra})]
    return [name for name in names_of_extra if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
