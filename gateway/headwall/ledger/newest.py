"""The numbers of the newest rows: who follows tables sees in one query whether any of them has grown."""

from __future__ import annotations

from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.ledger import schema


class Newest(NamedTuple):
    """The number of the newest row of each table, 0 where it has none; numbers of rows only grow.

    `not_needed` is of the log book: what a person has closed as not needed has no table of its own.
    """

    maintenance: int
    quality_edits: int
    calibrations: int
    entries: int
    approvals: int
    cases: int
    case_steps: int
    dead_letters: int
    not_needed: int


NOT_NEEDED: Final = "duty_not_needed"


def _of(table: sa.Table) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0)).scalar_subquery()


_R = schema.records.c
_CLOSED = sa.select(sa.func.coalesce(sa.func.max(_R.n), 0)).where(_R.kind == NOT_NEEDED).scalar_subquery()
_NEWEST: Final = sa.select(
    *(_of(schema.metadata.tables[name]).label(name) for name in Newest._fields[:-1]), _CLOSED.label("not_needed")
)


def newest(conn: sa.Connection) -> Newest:
    """The numbers as this transaction sees them."""
    return Newest._make(conn.execute(_NEWEST).one())
