"""active.json: which queues a resume opens. Written when the scheduler is closed, and read when it is opened."""

import json

import msgspec

NAME = "requests.queue/active.json"
# The slot of the queues that lie in requests.queue itself: those of scrapy.pqueues.ScrapyPriorityQueue.
NO_SLOT = ""


class Index(msgspec.Struct, frozen=True):
    """The priorities of each slot, as Scrapy negates them; `error` says why there are none."""

    slots: dict[str, tuple[int, ...]] = {}
    error: str = ""


def read(data: bytes) -> Index:
    """The index in the file's bytes. Every empty value is an empty index, as it is for Scrapy."""
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        return Index(error=f"reading it raises {type(error).__name__}")
    if not found:
        return Index()
    table = {NO_SLOT: found} if isinstance(found, list) else found
    if not isinstance(table, dict):
        return Index(error=f"it holds a {type(found).__name__}")
    for name, priorities in table.items():
        if priorities is not None and not _are_numbers(priorities):
            return Index(error=f"it holds no list of priorities for the slot {name[:80]!r}")
    return Index({name: tuple(dict.fromkeys(priorities or ())) for name, priorities in table.items()})


def _are_numbers(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int for value in values)
