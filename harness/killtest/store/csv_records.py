"""The records of a CSV text, in step again behind a quote that a kill left open."""

import csv
import itertools
from collections.abc import Iterator
from typing import NamedTuple

# A saved page may be a field; what is longer than this was swallowed by a quote that nothing closes.
_FIELD_LIMIT = 1 << 24
_END = "\r\n"
_BOM = "\ufeff"


class Header(NamedTuple):
    """The names of the columns, the text that says them, and how many lines stand up to its end."""

    names: list[str]
    text: str
    lines: int
    is_glued: bool = False

    def is_line(self, line: str) -> bool:
        """True for a line that is the header once more."""
        return line.rstrip(_END).removeprefix(_BOM) == self.text

    def ends(self, line: str) -> bool:
        """True for a line that ends with the header: it was appended to half a row, or stands alone."""
        return self.is_line(line) or (len(self.names) > 1 and line.rstrip(_END).endswith(self.text))


class Record(NamedTuple):
    """What lines[start:end] say; `fields` is None where they can't be read, and `flaw` says why."""

    start: int
    end: int
    fields: list[str] | None
    flaw: str = ""


def header(lines: list[str], key: str, delimiter: str) -> Header | None:
    """The first line that is not empty; None while there is none.

    A header that was cut has another one glued behind it: that is taken which has the key and fits the next row.
    """
    csv.field_size_limit(_FIELD_LIMIT)
    first = _filled(lines, 0)
    if first == len(lines):
        return None
    names, used = _first_record(lines[first:], delimiter)
    end = first + used
    text = "".join(lines[first:end]).rstrip(_END)
    behind = _filled(lines, end)
    width = len(_first_record(lines[behind:], delimiter)[0]) if behind < len(lines) else 0
    if key in names and width in (0, len(names)):
        return Header(names, text, end)
    for cut in range(1, len(text)):
        rest = text[cut:].removeprefix(_BOM)
        if rest.startswith(text[:cut]):
            names_again = _first_record([rest], delimiter)[0]
            if key in names_again and width in (0, len(names_again)):
                return Header(names_again, rest, end, is_glued=True)
    return Header(names, text, end)


def _filled(lines: list[str], at: int) -> int:
    """The number of the first line from `at` on that is not empty."""
    return next((number for number in range(at, len(lines)) if lines[number].strip(_END)), len(lines))


def _first_record(lines: list[str], delimiter: str) -> tuple[list[str], int]:
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        return next(reader), reader.line_num
    except csv.Error:
        return next(csv.reader(lines[:1], delimiter=delimiter)), 1


def records(lines: list[str], at: int, delimiter: str, head: Header) -> Iterator[Record]:
    """The records from line `at` on. Where one can't be read its first line alone is given up.

    A row over several lines is believed when it has all its fields, and no header in it: otherwise a quote that is
    never closed has swallowed them.
    """
    while at < len(lines):
        reader = csv.reader(itertools.islice(lines, at, None), delimiter=delimiter, strict=True)
        start = at
        try:
            for fields in reader:
                end = at + reader.line_num
                if end - start > 1 and (len(fields) != len(head.names) or any(map(head.ends, lines[start:end]))):
                    raise csv.Error
                yield Record(start, end, fields)
                start = end
            return
        except csv.Error as error:
            is_open = at + reader.line_num > start + 1 or "unexpected end" in str(error)
            why = "a quote is never closed" if is_open else str(error)
            yield Record(start, start + 1, None, why)
            at = start + 1
