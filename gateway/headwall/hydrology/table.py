"""A table of text out of a file that somebody's logger or spreadsheet wrote.

Takes UTF-8 and UTF-16 with or without byte-order mark, and Windows-1252; commas, semicolons, tabs or bars; lines
before the names of the columns (a HOBO export's "Plot Title", a Campbell logger's station line); blank lines.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import Final, NamedTuple

from headwall.errors import InputError

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DELIMITERS: Final = "\t;|,"  # in order of preference where several fit as well
_HEADER_WITHIN: Final = 50  # lines
_TIME_NAME: Final = re.compile(r"date|time(?!r)|^year$", re.IGNORECASE)
_DATA: Final = re.compile(r"[-+.]?\d[-+\d.,:/ TZ]*(?:[AaPp]\.?[Mm]\.?)?")


class Row(NamedTuple):
    """One row and the line of the file on which it ends."""

    line: int
    cells: list[str]

    def cell(self, column: int) -> str:
        """The text of a cell without surrounding blanks; empty where the row is too short."""
        return self.cells[column].strip() if column < len(self.cells) else ""


class Table(NamedTuple):
    """Names of the columns and rows of data, blank ones left out."""

    source: str
    header: list[str]
    rows: list[Row]
    delimiter: str


def looks_like_time_name(name: str) -> bool:
    return _TIME_NAME.search(name) is not None


def read_table(data: bytes, source: str, *, time_column: str | None = None) -> Table:
    """The table in a file's bytes; InputError says what is wrong with them, where, and what to do."""
    text = _decode(data, source)
    delimiter = _delimiter(text)
    rows = _rows(text, delimiter, source)
    header = _find_header(rows, time_column)
    if header is None:
        raise InputError(f"{source}: no line with names of columns in its first {_HEADER_WITHIN} lines; write one")
    return Table(source, [name.strip() for name in rows[header].cells], rows[header + 1 :], delimiter)


def _decode(data: bytes, source: str) -> str:
    text = _decoded(data, source)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{source}, line {line}: a NUL byte, so not text or damaged; export the file again as CSV")
    return text


def _decoded(data: bytes, source: str) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data[len(bom) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(f"{source}: damaged {encoding} text ({error}); export it again") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return data.decode("cp1252")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(f"{source}, line {line}: not text; export the file as CSV in UTF-8") from None


def _delimiter(text: str) -> str:
    """The delimiter that stands in most of the first lines."""
    lines = [line for line in text[:20_000].splitlines()[:_HEADER_WITHIN] if line.strip()]
    return max(_DELIMITERS, key=lambda mark: sum(mark in line for line in lines))


def _rows(text: str, delimiter: str, source: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(Row(reader.line_num, cells))
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: not a row of a table ({error}); mend that line") from None
    return rows


def _find_header(rows: list[Row], time_column: str | None) -> int | None:
    """The first row that names a time column, else the first with two cells and more; without digits, if unnamed."""
    first = [n for n, row in enumerate(rows) if row.line <= _HEADER_WITHIN]
    if time_column is not None:
        wanted = time_column.split("+")[0].strip().lower()
        for n in first:
            if any(cell.strip().lower() == wanted for cell in rows[n].cells):
                return n
    for n in first:
        if _names_time(rows[n]):
            return n
    for n in first:
        if sum(1 for cell in rows[n].cells if cell.strip()) > 1 and not _holds_data(rows[n]):
            return n
    return None


def _names_time(row: Row) -> bool:
    if len(row.cells) == 1:  # a title may hold the word too; a column of its own has a short name
        return looks_like_time_name(row.cells[0]) and len(row.cells[0].strip()) <= 12 and not _holds_data(row)
    return any(looks_like_time_name(cell) for cell in row.cells) and not _holds_data(row)


def _holds_data(row: Row) -> bool:
    """Whether a cell holds a number or a time."""
    return any(_DATA.fullmatch(cell.strip()) for cell in row.cells)
