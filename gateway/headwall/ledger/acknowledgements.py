"""Who has seen that something is due or waits. It ends that others are told; it closes and decides nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from headwall.errors import InputError, UnknownThingError
from headwall.ledger import log_book, schema

_A = schema.acknowledgements.c
_OF = (
    sa.select(_A.matter, _A.by, _A.at_us).where(_A.matter.in_(sa.bindparam("matters", expanding=True))).order_by(_A.id)
)
_TABLES = {"duty": schema.duties, "case": schema.cases}


@dataclass(frozen=True)
class Acknowledgement:
    """A named person's word that it was seen."""

    matter: str
    by: str
    at_us: int


def matter(kind: str, number: int) -> str:
    """How a duty or a case is named here, e.g. "duty/12"."""
    return f"{kind}/{number}"


def parse(text: str) -> tuple[str, int]:
    """Kind and number of "duty/12" or "case/3"; InputError for anything else."""
    kind, _, number = text.partition("/")
    if kind not in _TABLES or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise InputError(f"{text!r} is neither a duty nor a case; write duty/12 or case/3")
    return kind, int(number)


def add(conn: sa.Connection, text: str, *, by: str, now_us: int) -> bool:
    """Note that a person has seen a duty or a case, in the log book too; False if that person had said so before.

    Raises:
        InputError: no person is named, or the text names neither a duty nor a case.
        UnknownThingError: there is no such duty or case.
    """
    kind, number = parse(text)
    by = log_book.person(by)
    table = _TABLES[kind]
    if conn.execute(sa.select(table.c.id).where(table.c.id == number).with_for_update()).first() is None:
        raise UnknownThingError(f"there is no {kind} {number}; `headwall {kind} list` shows them")
    if conn.execute(sa.select(_A.id).where(_A.matter == text, _A.by == by)).first() is not None:
        return False
    conn.execute(schema.acknowledgements.insert().values(matter=text, by=by, at_us=now_us))
    log_book.append(conn, f"{kind}_acknowledged", by, {kind: number}, now_us)
    return True


def redact(conn: sa.Connection, row: log_book.Row) -> None:
    """Take the name out of the acknowledgement that a row of the log book is of; it stays, under the row's number."""
    kind = row.kind.removesuffix("_acknowledged")
    if kind in _TABLES and kind != row.kind:
        here = (_A.matter == matter(kind, row.body[kind])) & (_A.by == row.by)
        instead = f"{log_book.REDACTED} in row {row.n}"
        conn.execute(schema.acknowledgements.update().where(here).values(by=instead))


def of(conn: sa.Connection, matters: Collection[str]) -> dict[str, list[Acknowledgement]]:
    """Who has acknowledged each of some matters, in order; those that nobody has are left out."""
    found: dict[str, list[Acknowledgement]] = {}
    for row in conn.execute(_OF, {"matters": list(matters)}) if matters else ():
        found.setdefault(row.matter, []).append(Acknowledgement(row.matter, row.by, row.at_us))
    return found
