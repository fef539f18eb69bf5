"""Rows that are never changed: the same is kept once, and a later one that names it in `replaces` stands in its stead.

For tables that have `id`, `digest`, `replaces`, `by` and `at_us` beside what their rows say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from headwall.errors import InputError


def digest_of(what: Mapping[str, Any]) -> str:
    """SHA-256 of what a row says, whoever entered it whenever."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def stands_already(conn: sa.Connection, table: sa.Table, digest: str, remedy: str) -> bool:
    """Whether a row says the same, and stands.

    Args:
        remedy: what to do where another stands in its stead, whose number takes the place of {}.

    Raises:
        InputError: a row says the same, and does not stand any more.
    """
    same = conn.execute(sa.select(table.c.id).where(table.c.digest == digest)).scalar()
    if same is None:
        return False
    instead = replaced_by(conn, table, same)
    if instead is None:
        return True
    raise InputError(f"the same was entered as {same}, for which {instead} stands now; {remedy.format(instead)}")


def add(conn: sa.Connection, table: sa.Table, digest: str, what: Mapping[str, Any], by: str, now_us: int) -> int:
    """A new row; returns its number."""
    row = {"digest": digest, **what, "by": by, "at_us": now_us}
    number: int = conn.execute(table.insert().values(**row).returning(table.c.id)).scalar_one()
    return number


def replaced_by(conn: sa.Connection, table: sa.Table, number: int) -> int | None:
    """The number of the row that names this one in `replaces`; None: it stands."""
    return conn.execute(sa.select(table.c.id).where(table.c.replaces == number)).scalar()


def replacements(conn: sa.Connection, table: sa.Table) -> dict[int, int]:
    """Row → the one that stands in its stead, whether that can be read or not."""
    query = sa.select(table.c.replaces, table.c.id).where(table.c.replaces.is_not(None))
    return {row.replaces: row.id for row in conn.execute(query)}


def stands(table: sa.Table) -> sa.ColumnElement[bool]:
    """For a query's rows of the table: nothing has replaced them."""
    later = table.alias()
    return ~sa.exists().where(later.c.replaces == table.c.id)
