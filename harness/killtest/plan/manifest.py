"""The manifest of a subject: what it is, how it is started, and how to read what it stored (docs/manifest.md)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from killtest import toml_file
from killtest.errors import UsageError
from killtest.plan import effects, glob_pattern
from killtest.plan.effects import EffectNeeds
from killtest.reload import code_copy

Positive = Annotated[float, Meta(gt=0)]
Command = Annotated[tuple[str, ...], Meta(min_length=1)]
FILE_READERS = ("sqlite", "jsonl", "csv", "json", "files")
BUILT_READERS = (*FILE_READERS, "postgres")
_ASKED_BY_QUERY = ("sqlite", "postgres")
BUILT_SERVICES = ("valkey", "postgres")


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When the subject counts as done. Built: it exits with 0."""

    when: Literal["exit"] = "exit"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of one trial, in seconds; `restarts` counts unplanned exits that are answered with a restart."""

    idle_s: Positive = 10.0
    total_s: Positive = 120.0
    restarts: Annotated[int, Meta(ge=0)] = 5
    grace_s: Positive = 15.0
    hold_s: Positive = 5.0


class SiteNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shop a subject is run against; the campaign and the command line override it.

    It answers on so many `addresses`, from 127.0.0.1 on, with the same port: for crawlers that keep a queue per host.
    """

    shape: Literal["pages", "star", "chain", "two_page"] = "pages"
    next: Literal["first", "last"] = "last"
    list_pages: Annotated[int, Meta(ge=1)] = 25
    products: Annotated[int, Meta(ge=1)] = 500
    latency_ms: Annotated[float, Meta(ge=0)] = 0.0
    seed: int = 1
    addresses: Annotated[int, Meta(ge=1, le=16)] = 1

    def __post_init__(self) -> None:
        """Refuse a shop with empty list pages, which the site would refuse."""
        if self.shape in ("pages", "two_page") and self.list_pages > self.products:
            raise ValueError(f"list_pages = {self.list_pages} with products = {self.products}: some would be empty")

    @property
    def minimum(self) -> int:
        """The page requests of a perfect crawl: every page once (docs/site-protocol.md)."""
        lists = self.list_pages if self.shape in ("pages", "two_page") else 1
        return lists + self.products * (2 if self.shape == "two_page" else 1)

    @property
    def bumped(self) -> tuple[str, ...]:
        """What a path shows before its number, where it shows a product (docs/site-protocol.md)."""
        return ("product", "view", "image") if self.shape == "two_page" else ("product", "image")

    @property
    def _numbered(self) -> dict[str, range]:
        """The numbers of each kind of path."""
        lists = self.list_pages if self.shape in ("pages", "two_page") else 1
        return {"list": range(lists)} | {kind: range(1, self.products + 1) for kind in self.bumped}

    def paths(self) -> Iterator[str]:
        """Everything that the site answers with content, each path once (docs/site-protocol.md)."""
        yield from ("/", "/robots.txt", "/sitemap.xml", "/hook")
        for kind, numbers in self._numbered.items():
            yield from (f"/{kind}/{number}" for number in numbers)

    @property
    def paths_in_words(self) -> str:
        """The same, told."""
        kinds = [f"/{kind}/{numbers[0]} to /{kind}/{numbers[-1]}" for kind, numbers in self._numbered.items()]
        return ", ".join([*kinds, "/, /robots.txt, /sitemap.xml and /hook"])

    def shows_product(self, path: str) -> bool:
        """Whether the site can bump that path, which names a product in its canonical spelling."""
        found = re.fullmatch(r"/([a-z]+)/([1-9][0-9]{0,11})", path)
        return found is not None and found[1] in self.bumped and int(found[2]) <= self.products


class StoreNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the rows are, below the store folder (postgres: in the trial's server), and how to read them.

    `query` (sqlite, postgres) names the columns: `key` is the natural key; `key` (jsonl, csv, json) names the column
    that is. `delimiter` (csv) stands between two fields. For files, one row each, `key` is a pattern whose group is
    searched for in what `key_from` says: the file's path below the store folder or its content; `fields` are columns,
    each with such a pattern for the content. With `group` the truth holds once for each value of that column, of which
    there are `groups`: the same crawl ordered several times.
    """

    reader: str
    path: str = ""
    query: str | None = None
    key: str | None = None
    key_from: Literal["path", "content"] = "path"
    fields: dict[str, str] = {}
    delimiter: str = ","
    group: str | None = None
    groups: Annotated[int, Meta(ge=1)] = 1


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A crawler under test.

    `folder` is where its files are; relative words of `command` are looked up there. `source` is what the
    command line calls it, None when it was made of a command line without a manifest. `jobdir` is where it keeps a
    JOBDIR of Scrapy, below the store folder. `reload` names the files of its code that a reload may edit (patterns
    below `folder`; it runs from a private copy then), `services` the servers that are started for each trial, with
    the settings of `service`, and `instances` is how many copies of it run side by side. `effects` are what it does
    beyond its rows.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    command: Command
    store: StoreNeeds
    effects: EffectNeeds = EffectNeeds()
    title: str = ""
    restart: Command | None = None
    setup: tuple[Command, ...] = ()
    extra: str | None = None
    expect: Literal["PASS", "FAIL"] = "PASS"
    env: dict[str, str] = {}
    jobdir: str | None = None
    reload: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    service: dict[str, dict[str, str]] = {}
    instances: Annotated[int, Meta(ge=1, le=16)] = 1
    done: Done = Done()
    limits: Limits = Limits()
    site: SiteNeeds = SiteNeeds()
    variants: dict[str, dict[str, Any]] = {}
    variant: str | None = None
    folder: str = ""
    source: str | None = None


def within(total_s: float | None, who: Subject) -> Subject:
    """The subject with trials of at most `total_s` seconds; as it is for None."""
    if total_s is None:
        return who
    return msgspec.structs.replace(who, limits=msgspec.structs.replace(who.limits, total_s=total_s))


def load(path: Path, variant: str | None = None) -> Subject:
    """The subject described by the manifest at `path`, with the changes of `variant` applied."""
    table = toml_file.load(path)
    for field in ("variant", "folder", "source"):
        if field in table:
            raise UsageError(f"{path}: `{field}` is not set in a manifest")
    if variant is not None:
        table = _with_variant(table, variant, path)
    table = _with_arguments(table, path)
    table = table | {"variant": variant, "folder": str(path.resolve().parent)}
    subject = toml_file.convert(table, Subject, str(path))
    if subject.jobdir is not None and not _lies_below(subject.jobdir):
        raise UsageError(f"{path}: jobdir {subject.jobdir!r} must lie below the store folder")
    _check_reload(subject, path)
    _check_services(subject, path)
    check_store(subject.store, str(path))
    effects.check(subject.effects, subject.services, subject.store.groups, str(path))
    if subject.store.reader == "postgres" and "postgres" not in subject.services:
        raise UsageError(f'{path}: a postgres store is that of the service: services = ["postgres"]')
    return subject


def _check_reload(subject: Subject, path: Path) -> None:
    for pattern in subject.reload:
        if not _lies_below(pattern):
            raise UsageError(f"{path}: reload {pattern!r} must lie below the manifest's folder")
        if not code_copy.matching(path.resolve().parent, [pattern]):
            raise UsageError(
                f"{path}: reload {pattern!r}: there is no such file beside the manifest; hidden folders, results and "
                "links to elsewhere do not count, as a trial edits its own copy"
            )


def _check_services(subject: Subject, path: Path) -> None:
    unknown = [name for name in subject.services if name not in BUILT_SERVICES]
    if unknown:
        raise UsageError(f"{path}: services: {', '.join(unknown)}; built: {', '.join(BUILT_SERVICES)}")
    if len(set(subject.services)) < len(subject.services):
        raise UsageError(f"{path}: services: {', '.join(subject.services)}: each one is named once")
    idle = [name for name in subject.service if name not in subject.services]
    if idle:
        raise UsageError(f'{path}: [service.{idle[0]}] without services = ["{idle[0]}"]')


def check_store(store: StoreNeeds, source: str) -> None:
    """Refuse a store that no reader can read; UsageError names `source`."""
    if store.reader not in BUILT_READERS:
        raise UsageError(f"{source}: store reader {store.reader!r} is unknown; built: {', '.join(BUILT_READERS)}")
    wanted, given = ("query", store.query) if store.reader in _ASKED_BY_QUERY else ("key", store.key)
    if not given:
        what = "a pattern whose group is" if store.reader == "files" else "which column is"
        raise UsageError(f"{source}: a {store.reader} store wants `{wanted}`, to say {what} the natural key")
    _check_path(store, source)
    if (store.group is None) != (store.groups == 1):
        raise UsageError(f"{source}: store: `group` names a column and `groups` says how many values it has: 2 or more")
    if store.reader == "files":
        _check_patterns(store, source)
    elif store.fields or store.key_from != "path":
        raise UsageError(f"{source}: `key_from` and [store.fields] go with the reader files, not {store.reader}")
    _check_delimiter(store, source)


def _check_path(store: StoreNeeds, source: str) -> None:
    if bool(store.path) == (store.reader == "postgres"):
        no = "no " if store.path else "a "
        raise UsageError(f"{source}: a {store.reader} store wants {no}`path`")
    if not _lies_below(store.path):
        raise UsageError(f"{source}: store path {store.path!r} must lie below the store folder")
    if (flaw := glob_pattern.flaw(store.path)) is not None:
        raise UsageError(f"{source}: store path {store.path!r} is no pattern for files: {flaw}")


def _check_delimiter(store: StoreNeeds, source: str) -> None:
    if store.delimiter != "," and store.reader != "csv":
        raise UsageError(f"{source}: `delimiter` goes with the reader csv, not {store.reader}")
    if len(store.delimiter) != 1 or store.delimiter in '\r\n"':
        raise UsageError(f"{source}: store: delimiter = {store.delimiter!r} is not one character that can part fields")


def _lies_below(path: str) -> bool:
    """Whether a path names something below the folder that it is looked up in."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _check_patterns(store: StoreNeeds, source: str) -> None:
    for name, pattern in {"key": store.key or "", **store.fields}.items():
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise UsageError(f"{source}: store: {name} = {pattern!r} is no regular expression: {error}") from None
        if groups != 1:
            raise UsageError(f"{source}: store: {name} = {pattern!r} has {groups} groups; it wants one: the value")
    if "key" in store.fields:
        raise UsageError(f"{source}: store: `key` is no field: the pattern for it stands in [store] itself")


def _with_arguments(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """`arguments` are the last words of `command` and of `restart`, so that a variant need not repeat the others."""
    words = table.get("arguments", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UsageError(f"{path}: arguments = {words!r} is no list of words")
    # A command that is no list is refused with the rest of the table.
    commands = {name: table[name] + words for name in ("command", "restart") if isinstance(table.get(name), list)}
    return {name: value for name, value in table.items() if name != "arguments"} | commands


def _with_variant(table: dict[str, Any], variant: str, path: Path) -> dict[str, Any]:
    variants = table.get("variants", {})
    if variant not in variants:
        known = ", ".join(variants) or "none"
        raise UsageError(f"{path}: no variant {variant!r}; it has: {known}")
    return _merged(table, variants[variant])


def _merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(table)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
