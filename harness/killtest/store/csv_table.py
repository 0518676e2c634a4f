"""Read a CSV store: a header and a row per line, in one file or in all that a pattern names."""

import io
from pathlib import Path

from killtest.store import csv_records
from killtest.store.csv_records import Header, Record
from killtest.store.rows import Row, Rows, instead_of, row_of
from killtest.store.text import BOM, Text, excerpt, read_all


def read(folder: Path, pattern: str, key: str, delimiter: str) -> Rows | None:
    """The rows of all files below `folder` that match `pattern`; None while there is none.

    The first line names the columns. A row with too few or too many fields is damage and counts with its key alone,
    where that can be read; half a row at the end is damage. A last row with all its fields counts without a line
    end, which many writers leave out.
    """
    return read_all(folder, pattern, lambda text: _Table(text, key, delimiter).read())


class _Table:
    """One file being read: what has been found in it, and in which torn row the next lines may lie."""

    def __init__(self, text: Text, key: str, delimiter: str) -> None:
        self._text, self._key, self._delimiter = text, key, delimiter
        self._header: Header | None = None
        self._instead: tuple[str, ...] | None = None
        self._rows: list[Row] = []
        self._damage = list(text.damage)
        self._torn: int | None = None  # the index in _damage of a torn row that may go on

    def read(self) -> Rows:
        number, is_torn = 1, False
        for run, is_cut in self._text.runs():
            # A surrogate stands for a byte that is no UTF-8; lines keep their ends, and every kind of end is one.
            content = run.removeprefix(BOM).decode("utf-8", "surrogateescape")
            lines = list(io.StringIO(content, newline=""))
            has_end = not lines or lines[-1].endswith(("\n", "\r"))
            self._read_lines(lines, number, is_cut and not has_end)
            is_torn = self._torn is not None or (self._rows == [] and not has_end)
            if is_cut and self._torn is not None:
                del self._damage[self._torn]  # it is the torn member's, which has been told
            self._torn = None
            number += len(lines)
        return Rows(tuple(self._rows), tuple(self._damage), is_torn or self._text.is_torn, self._instead)

    def _read_lines(self, lines: list[str], number: int, is_last_cut: bool) -> None:
        at = 0
        if self._header is None:
            self._header = csv_records.header(lines, self._key, self._delimiter)
            at = self._header.lines if self._header else len(lines)
            if self._header and lines[at - 1].endswith(("\n", "\r")):
                self._instead = instead_of(self._key, [dict.fromkeys(self._header.names)])
            if self._header and self._header.is_glued:
                self._tell(number + at - 1, "half a header, and the header again behind it")
        if self._header is None:
            return
        for record in csv_records.records(lines, at, self._delimiter, self._header):
            is_last = record.end == len(lines)
            if not (is_last and is_last_cut):
                has_end = not is_last or lines[-1].endswith(("\n", "\r"))
                self._take(record, lines[record.start], number + record.start, has_end, self._header)

    def _take(self, record: Record, line: str, number: int, has_end: bool, head: Header) -> None:
        fields = record.fields
        if fields == []:
            return
        if head.ends(line):
            self._take_header(line, number, head)
        elif fields is None:
            self._tear(number, f"{record.flaw}: {_excerpt(line)}")
        elif len(fields) == len(head.names) and (has_end or _is_unicode(fields[-1])):
            self._torn = None
            self._add(dict(zip(head.names, fields, strict=True)), number)
        elif not has_end:
            self._tear(number, f"half a row: {_excerpt(line)}")
        elif self._torn is None or len(fields) > len(head.names):
            self._torn = None
            self._tell(number, f"{len(fields)} fields instead of {len(head.names)}")
            self._add_key(fields, number, head)

    def _take_header(self, line: str, number: int, head: Header) -> None:
        if head.is_line(line):
            self._tell(number, "the header again")
        elif self._torn is None:
            self._tell(number, f"half a row, and the header again behind it: {_excerpt(line)}")
        self._torn = None

    def _tell(self, number: int, reason: str) -> None:
        self._damage.append(f"{self._text.label}line {number}: {reason}")

    def _tear(self, number: int, reason: str) -> None:
        """A torn row, told once however many lines its rest may have."""
        if self._torn is None:
            self._torn = len(self._damage)
            self._tell(number, reason)

    def _add(self, values: dict[str, str], number: int) -> None:
        spoiled = [name for name, value in values.items() if not value.isascii() and not _is_unicode(value)]
        if spoiled:
            self._tell(number, f"no UTF-8 in {', '.join(spoiled)}")
            values = {name: value for name, value in values.items() if name not in spoiled}
        if self._key not in spoiled:
            key = values.get(self._key) or None
            self._rows.append(row_of(values | {"key": key}, f"{self._text.label}line {number}"))

    def _add_key(self, fields: list[str], number: int, head: Header) -> None:
        """A row of its key alone: the other fields may stand in wrong columns, and a last one of too few may be cut."""
        sure = fields[: len(head.names)] if len(fields) > len(head.names) else fields[:-1]
        values = dict(zip(head.names, sure, strict=False))
        if values.get(self._key) and _is_unicode(values[self._key]):
            self._rows.append(row_of({"key": values[self._key]}, f"{self._text.label}line {number}"))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _excerpt(line: str) -> str:
    return excerpt(line.encode("utf-8", "surrogateescape"))
