"""The stats that Scrapy writes into its log when a spider is closed: `Dumping Scrapy stats:` and a dict."""

import re
from collections.abc import Iterator
from pathlib import Path

Stats = dict[str, int | float | str]

_DUMP = re.compile(r"Dumping Scrapy stats:\n(\{.*?\}$)", re.MULTILINE | re.DOTALL)
# What is no number and no text, such as the times of start and end, is left out.
_VALUE = re.compile(
    r"""^[ {](?P<quote>['"])(?P<name>.+?)(?P=quote):\ """
    r"""(?:(?P<int>-?\d+)|(?P<float>-?\d+\.\d+(?:e[-+]?\d+)?)|(?P<mark>['"])(?P<text>.*)(?P=mark))[,}]$""",
    re.MULTILINE,
)


def read(log: Path) -> Stats | None:
    """The numbers and texts of the last complete dump in a log; None where there is none."""
    try:
        text = log.read_text("utf-8", "backslashreplace")
    except OSError:
        return None
    dumps = _DUMP.findall(text)
    return dict(_values(dumps[-1])) if dumps else None


def _values(dump: str) -> Iterator[tuple[str, int | float | str]]:
    for found in _VALUE.finditer(dump):
        if found["int"] is not None:
            yield found["name"], int(found["int"])
        elif found["float"] is not None:
            yield found["name"], float(found["float"])
        else:
            yield found["name"], found["text"]
