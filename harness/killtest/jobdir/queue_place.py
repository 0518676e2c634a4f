"""Where the queues of a JOBDIR lie: requests.queue/SLOT-MD5/PRIORITY, with an `s` behind it for start requests."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from killtest.jobdir import contents
from killtest.jobdir.index_file import NO_SLOT

FOLDER = "requests.queue"
_NAME = re.compile(r"(0|-?[1-9][0-9]{0,17})(s?)")
_SLOT = re.compile(r"(.*)-([0-9a-f]{32})", re.DOTALL)
COMPANIONS = ("-journal", "-wal", "-shm")


class QueuePlace(NamedTuple):
    """A queue's slot, priority (negated, as in its name), whether it holds start requests, and its path."""

    slot: str
    priority: int
    start: bool
    path: Path


def find(queue_folder: Path, listed: dict[str, tuple[int, ...]]) -> Iterator[QueuePlace]:
    """The queues below requests.queue, by slot and priority. `listed` knows the slots' own names."""
    names = {path_safe(slot): slot for slot in listed if slot != NO_SLOT}
    for entry in contents.entries(queue_folder):
        place = _place(entry, NO_SLOT)
        if place is not None:
            yield place
        elif entry.is_dir() and not entry.is_symlink():
            slot = names.get(entry.name) or _slot_of(entry.name)
            places = (_place(inner, slot) for inner in contents.entries(entry))
            yield from sorted((one for one in places if one is not None), key=lambda one: one[1:3])


def path_of(slot: str, priority: int, start: bool) -> str:
    """The path of a queue below the JOBDIR."""
    folder = [] if slot == NO_SLOT else [path_safe(slot)]
    return "/".join([FOLDER, *folder, f"{priority}{'s' if start else ''}"])


def path_safe(slot: str) -> str:
    """The folder of a slot, as scrapy.pqueues names it."""
    safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in slot)
    digest = hashlib.md5(slot.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{safe}-{digest}"


def _place(entry: Path, slot: str) -> QueuePlace | None:
    found = _NAME.fullmatch(entry.name)
    return QueuePlace(slot, int(found[1]), found[2] == "s", entry) if found else None


def _slot_of(folder: str) -> str:
    """A slot's name by that of its folder, in which some characters may stand as `_`."""
    found = _SLOT.fullmatch(folder)
    return found[1] if found else folder
