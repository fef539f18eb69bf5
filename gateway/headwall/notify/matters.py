"""Which duties and cases a mail is about: those that a named person can say were seen."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import sqlalchemy as sa

from headwall.ledger import cases
from headwall.ledger.acknowledgements import matter
from headwall.notify.outbox import Waiting
from headwall.rules.facts import OpenMatters, from_body


def of_rows(conn: sa.Connection, rows: Iterable[Waiting]) -> list[str]:
    """Each once, in the order of the rows, e.g. "duty/12"."""
    return list(dict.fromkeys(found for row in rows for found in _of_row(conn, row)))


def _of_row(conn: sa.Connection, row: Waiting) -> list[str]:
    try:
        fact = from_body(row.body)
    except msgspec.ValidationError:
        return []  # composing will say what is wrong with the row
    if isinstance(fact, OpenMatters):
        duties = [matter("duty", each.duty) for each in (*fact.overdue, *fact.soon)]
        return [*duties, *(matter("case", each.case) for each in fact.cases)]
    named = [(kind, getattr(fact, kind, None)) for kind in ("duty", "case")]
    found = [matter(kind, number) for kind, number in named if isinstance(number, int)]
    if found:
        return found
    case = cases.of_notice(conn, row.fact)
    return [matter("case", case.id)] if case is not None else []
