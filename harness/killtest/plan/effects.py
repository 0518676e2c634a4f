"""What a subject does beyond its rows, as its manifest declares it: `[effects.*]` (docs/manifest.md)."""

import re
from pathlib import Path

import msgspec

from killtest.errors import UsageError
from killtest.plan import glob_pattern

COUNTER_READERS = ("sqlite", "postgres", "json")
CAPTURE_READERS = ("sqlite", "postgres", "jsonl", "csv", "json")
_ASKED_BY_QUERY = ("sqlite", "postgres")


class FileNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pictures of the shop that it stores: the files that match the pattern `path` below the store folder.

    `key` is a pattern whose group finds the natural key in a file's path; without it a file is known by its content.
    """

    path: str
    key: str | None = None


class WebhookNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its announcements at the site's `/hook`: once for each record and version. `key` names the natural key.

    `varying` are columns that are another each time, such as the time of sending: two bodies that differ in nothing
    else are the same announcement.
    """

    key: str
    varying: tuple[str, ...] = ()


class CounterNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it counts about its own rows: `query` gives the columns counter and value, a JSON file one object."""

    reader: str
    path: str = ""
    query: str | None = None


class CaptureNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pages that it keeps as they were served: `url` and `body` name the columns."""

    reader: str
    path: str = ""
    query: str | None = None
    url: str = "url"
    body: str = "body"


class EffectNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All that is declared; what is None is not judged."""

    files: FileNeeds | None = None
    webhooks: WebhookNeeds | None = None
    counters: CounterNeeds | None = None
    captures: CaptureNeeds | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of those that are declared."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)

    @property
    def readers(self) -> tuple[str, ...]:
        """The readers of tables that are asked for."""
        return tuple(one.reader for one in (self.counters, self.captures) if one is not None)


def check(needs: EffectNeeds, services: tuple[str, ...], groups: int, source: str) -> None:
    """Refuse effects that nobody could read or judge; UsageError names `source`."""
    if needs.kinds and groups > 1:
        raise UsageError(f"{source}: effects can't be judged where the rows are there for each of several groups")
    if needs.files is not None:
        _check_path("files", needs.files.path, source)
        _check_key(needs.files.key, source)
    if needs.webhooks is not None and not needs.webhooks.key:
        raise UsageError(f"{source}: [effects.webhooks] wants `key`, which column of the body is the natural key")
    if needs.counters is not None:
        _check_table("counters", needs.counters, COUNTER_READERS, services, source)
    if needs.captures is not None:
        _check_table("captures", needs.captures, CAPTURE_READERS, services, source)


def _check_table(
    kind: str, needs: CounterNeeds | CaptureNeeds, readers: tuple[str, ...], services: tuple[str, ...], source: str
) -> None:
    reader = needs.reader
    if reader not in readers:
        raise UsageError(f"{source}: [effects.{kind}] reader {reader!r} is unknown; built: {', '.join(readers)}")
    if (needs.query is not None) != (reader in _ASKED_BY_QUERY):
        wants = "wants a `query`" if reader in _ASKED_BY_QUERY else "takes no `query`"
        raise UsageError(f"{source}: [effects.{kind}] reader {reader} {wants}")
    if reader != "postgres":
        _check_path(kind, needs.path, source)
    elif needs.path:
        raise UsageError(f"{source}: [effects.{kind}] reader postgres takes no `path`")
    elif "postgres" not in services:
        raise UsageError(f'{source}: [effects.{kind}] in postgres is in the service: services = ["postgres"]')


def _check_path(kind: str, path: str, source: str) -> None:
    if not path or Path(path).is_absolute() or ".." in Path(path).parts:
        raise UsageError(f"{source}: [effects.{kind}] path {path!r} must lie below the store folder")
    if (flaw := glob_pattern.flaw(path)) is not None:
        raise UsageError(f"{source}: [effects.{kind}] path {path!r} is no pattern for files: {flaw}")


def _check_key(key: str | None, source: str) -> None:
    if key is None:
        return
    try:
        groups = re.compile(key).groups
    except re.error as error:
        raise UsageError(f"{source}: [effects.files] key {key!r} is no regular expression: {error}") from None
    if groups != 1:
        raise UsageError(f"{source}: [effects.files] key {key!r} has {groups} groups; it wants one: the key")
