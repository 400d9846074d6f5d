"""Delimited tables with a header: tab, comma or semicolon, whichever the header has most of."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from engine.errors import DataError
from engine.knowledge.importers.reading.text import bad_line, counted, numbered_lines, shown

Row = list[str]


def column_key(name: str) -> str:
    """Return a column's name for comparison: `Approved symbol`, `approved_symbol` and `approved.symbol` are one."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().strip('"').lower()).strip("_")


def delimiter_of(header: str) -> str:
    """Return the delimiter of a header line; a tab when it has none."""
    return max("\t,;", key=header.count)


class Table:
    """A table that is read row by row.

    Lines that are blank or, before the header, start with `#` are passed over; a header that itself starts with
    `#` is taken when a tab or comma is in it and no line after it could be the header.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = numbered_lines(path)
        self._line = 0
        header = self._header_line()
        self.delimiter = delimiter_of(header)
        self.header = self._split(header)
        self.keys = [column_key(name) for name in self.header]

    def _header_line(self) -> str:
        for number, line in self._lines:
            self._line = number
            if line.strip() and not line.startswith("##") and not re.match(r"#\s", line) and line.strip() != "#":
                return line.removeprefix("#")
        raise DataError(f"{self.path.name} has no header line.", advice="The first line must name the columns.")

    def _split(self, line: str) -> Row:
        if self.delimiter == "\t":
            return [unquoted(field) for field in line.split("\t")]
        try:
            return [field.strip() for field in next(csv.reader([line], delimiter=self.delimiter))]
        except csv.Error as error:
            raise bad_line(self.path, self._line, f"the header cannot be read: {error}.") from error

    def column(self, *names: str) -> int:
        """Return the position of the first of these columns that exists, or -1."""
        return next((self.keys.index(name) for name in names if name in self.keys), -1)

    def required(self, *names: str) -> int:
        """Return the position of the first of these columns that exists.

        Raises:
            DataError: when there is none of them.
        """
        found = self.column(*names)
        if found < 0:
            wanted = " or ".join(repr(name) for name in names[:4])
            have = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in self.header[:12])
            message = f"{self.path.name}, line {self._line:,}: there is no column {wanted}; the columns are {have}."
            raise DataError(message[:600], advice="Name the column so, or choose another format.")
        return found

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield (line number, fields), as many fields as the header has.

        Raises:
            DataError: for a row with another number of fields.
        """
        width = len(self.header)
        for number, row in self._records():
            if len(row) != width:
                if not any(row):
                    continue
                raise bad_line(self.path, number, f"{counted(len(row), 'field')} where the header has {width}.")
            yield number, row

    def _records(self) -> Iterator[tuple[int, Row]]:
        if self.delimiter == "\t":
            for number, line in self._lines:
                if '"' in line:
                    yield number, [unquoted(field) for field in line.split("\t")]
                elif line:
                    yield number, line.split("\t")
            return
        spaced = (f"{self.delimiter} ", f" {self.delimiter}")
        for number, line in self._lines:
            if '"' in line:
                yield number, self._quoted(number, line)
            elif line:
                row = line.split(self.delimiter)
                if line[-1] == " " or spaced[0] in line or spaced[1] in line:
                    row = [field.strip() for field in row]
                yield number, row

    def _quoted(self, number: int, line: str) -> Row:
        """Return a record with quoted fields, which may go on over the next lines."""
        following = (f"{text}\n" for _, text in self._lines)
        try:
            row = next(csv.reader(chain([f"{line}\n"], following), delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            unended = "unexpected end" in str(error) or "field larger" in str(error)
            problem = "a quoted text that starts here has no end" if unended else str(error)
            raise bad_line(self.path, number, f"{problem}.") from error
        return [field.strip() for field in row]


def unquoted(field: str) -> str:
    """Return a field without blanks around it and without quotes that enclose all of it."""
    field = field.strip()
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"').strip()
    return field


def listed(text: str) -> list[str]:
    """Return the parts of a field that holds several values: split at `|` or `;`, else at `, `."""
    for separator in ("|", ";", ", "):
        if separator in text:
            return [part.strip() for part in text.split(separator) if part.strip()]
    return [text.strip()] if text.strip() else []


def number_in(path: Path, line: int, text: str, name: str) -> int:
    """Return a whole number; `7105.0`, as spreadsheets write it, is one.

    Raises:
        DataError: when it is none.
    """
    match = re.fullmatch(r"(\d+)(\.0*)?", text)
    if match is None:
        raise bad_line(path, line, f"the {name} is {shown(text)}; a whole number was expected.")
    return int(match[1])
