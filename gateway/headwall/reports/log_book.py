"""The log book for people: rows in words, and the same as CSV and PDF, for a records request without names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from importlib.resources import files
from typing import Any

import sqlalchemy as sa

from headwall.law import localtime
from headwall.ledger import attachments, log_book, schema
from headwall.registry import Registry
from headwall.rules.record_places import Places, RecordPlaces

COLUMNS = ("n", "at", "kind", "by", "sites", "municipalities", "what", "hash")
#: what a spreadsheet would take for a formula
_FORMULA = re.compile(r"^[=+\-@\t\r]")


@dataclass(frozen=True)
class Line:
    """A row of the log book as people read it."""

    n: int
    at: str  # local, with its offset
    kind: str
    by: str
    sites: str
    municipalities: str
    what: str
    hash: str


@dataclass(frozen=True)
class Choice:
    """Which rows; None: all of them."""

    site: str | None = None
    municipality: str | None = None
    from_us: int | None = None
    to_us: int | None = None  # exclusive


def rows(conn: sa.Connection, registry: Registry, choice: Choice) -> Iterator[tuple[log_book.Row, Places]]:
    """The chosen rows in order, each with what it is about."""
    places = RecordPlaces(registry)
    for row in log_book.rows(conn):
        found = places.of(row)
        if (
            (choice.site is None or choice.site in found.sites)
            and (choice.municipality is None or choice.municipality in found.municipalities)
            and (choice.from_us is None or row.at_us >= choice.from_us)
            and (choice.to_us is None or row.at_us < choice.to_us)
        ):
            yield row, found


def lines(
    conn: sa.Connection,
    registry: Registry,
    where: tzinfo,
    chosen: Iterable[tuple[log_book.Row, Places]],
    *,
    without_persons: bool = False,
) -> Iterator[Line]:
    """Rows as people read them.

    Args:
        without_persons: for a records request: a number stands for each name, mail address and telephone number that
            the log book or the registry knows, and personal details are left out. A name that somebody has typed into a
            reason and that stands nowhere else is not found: a person reads the export before it goes out.
    """
    hidden = _Hidden(conn, registry) if without_persons else None
    for row, found in chosen:
        what = "; ".join(_said(_shown_of(row, without_persons), where))
        yield Line(
            row.n,
            localtime.iso(row.at_us, where),
            row.kind,
            row.by if hidden is None else hidden.in_text(row.by),
            ", ".join(sorted(found.sites)),
            ", ".join(sorted(found.municipalities)),
            what if hidden is None else hidden.in_text(what),
            row.hash,
        )


def _shown_of(row: log_book.Row, without_persons: bool) -> dict[str, Any]:
    if not without_persons:
        return {**row.body, **(row.personal or {})}
    # whoever knows the rest of what a digest is of could find the name in it by trying; that of a file is of the file
    return {key: value for key, value in row.body.items() if key != "digest" or row.kind == attachments.KIND}


def as_csv(found: list[Line]) -> str:
    """RFC 4180, with a head line. A cell that a spreadsheet would compute begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for line in found:
        cells = [str(getattr(line, name)) for name in COLUMNS]
        writer.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells])
    return out.getvalue()


def as_pdf(found: list[Line], *, title: str, about: list[str], head: log_book.Head) -> bytes:
    """A table on pages of Letter size.

    Args:
        about: lines below the title: which rows, made when, whether names are left out.
        head: of the whole book when this was made.
    """
    import typst  # takes long to load, and one command needs it

    data = {"title": title, "about": about, "head": str(head), "rows": [_cells(line) for line in found]}
    source = files(__package__).joinpath("templates", "log_book.typ").read_bytes()
    made: bytes = typst.compile(source, sys_inputs={"data": json.dumps(data)}, ignore_system_fonts=True)
    return made


def shown(what: str) -> str:
    """As people read it: of a SHA-256 its beginning, and names of the program in words; a file's name as it is."""
    words = re.sub(r"(?<![\w./@-])[a-z]+(?:_[a-z]+)+(?![\w./@-])", lambda found: found[0].replace("_", " "), what)
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1…", words)


def _cells(line: Line) -> list[str]:
    where = line.sites or line.municipalities
    return [str(line.n), line.at[:16].replace("T", " "), line.kind.replace("_", " "), line.by, where, shown(line.what)]


def _said(body: dict[str, Any], where: tzinfo) -> Iterator[str]:
    for name, value in body.items():
        if value is None or value is False or value in ("", [], {}) or name in ("site", "municipality"):
            continue
        label = name.removesuffix("_us").replace("_", " ")
        if name.endswith("_us") and isinstance(value, int):
            yield f"{label} {localtime.iso(value, where)[:16].replace('T', ' ')}"
        elif value is True:
            yield label
        elif isinstance(value, dict):
            yield f"{label} ({'; '.join(_said(value, where))})"
        elif isinstance(value, list):
            yield f"{label} {', '.join(map(str, value))}"
        else:
            yield f"{label} {value}"


def _names(conn: sa.Connection) -> Iterator[str]:
    """Who has written something into the ledger, those of the log book first, in its order."""
    yield from (row.by for row in log_book.rows(conn) if not _nobody(row.by))
    for table in schema.metadata.sorted_tables:
        for column in (table.c[name] for name in ("by", "closed_by") if name in table.c):
            found = conn.execute(sa.select(column).distinct().order_by(column)).scalars()
            yield from (name for name in found if name and not _nobody(name))


def _nobody(name: str) -> bool:
    return name == log_book.HEADWALL or name.startswith(log_book.REDACTED)


class _Hidden:
    """Names, addresses and numbers of persons, each person a number of its own in this export."""

    def __init__(self, conn: sa.Connection, registry: Registry) -> None:
        self._stands_for: dict[str, str] = {}
        count = 0
        for person in registry.people:
            count += 1
            for text in (person.name, person.email, person.phone):
                if text:
                    self._stands_for.setdefault(text.casefold(), f"Person {count}")
        for name in _names(conn):
            if name.casefold() not in self._stands_for:
                count += 1
                self._stands_for[name.casefold()] = f"Person {count}"
        longest_first = sorted(self._stands_for, key=len, reverse=True)
        parts = [rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first]
        self._pattern = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)

    def in_text(self, text: str) -> str:
        return self._pattern.sub(lambda found: self._stands_for[found[0].casefold()], text)
