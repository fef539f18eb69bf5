"""Rows that hold what Headwall never writes, since something else changed them: told by number, the others read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from headwall.errors import HeadwallError

#: what reading such a row raises
ERRORS: Final = (TypeError, ValueError, AttributeError, RecursionError)
T = TypeVar("T")


class UnreadableRowError(HeadwallError):
    """A row is needed that cannot be read."""


@dataclass(frozen=True)
class Unreadable:
    """Which row cannot be read, as "duty 12", and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return (
            f"{self.what} cannot be read: {self.why}. Something else than Headwall has changed its row: take it back "
            "from a backup, and see what the log book has of it (`headwall logbook show`)"
        )


def read_rows(
    conn: sa.Connection,
    query: sa.Select[Any],
    number: sa.ColumnElement[int],
    what: str,
    read: Callable[[Any], T],
    unreadable: list[Unreadable] | None = None,
) -> list[T]:
    """What a query finds, each row read.

    Args:
        number: the column by which a row is named.
        what: what a row is, for the error: "duty".
        unreadable: takes what cannot be read, and the others are returned.

    Raises:
        UnreadableRowError: a row cannot be read, and `unreadable` is None.
    """
    try:
        return [read(row) for row in conn.execute(query)]
    except ERRORS:
        return _one_by_one(conn, query, number, what, read, unreadable)


def _one_by_one(
    conn: sa.Connection,
    query: sa.Select[Any],
    number: sa.ColumnElement[int],
    what: str,
    read: Callable[[Any], T],
    unreadable: list[Unreadable] | None,
) -> list[T]:
    """The same, a query a row: what is no JSON fails as soon as its row is fetched."""
    found = []
    for n in conn.execute(query.with_only_columns(number)).scalars().all():
        try:
            found.append(read(conn.execute(query.where(number == n)).one()))
        except ERRORS as error:
            bad = Unreadable(f"{what} {n}", str(error))
            if unreadable is None:
                raise UnreadableRowError(str(bad)) from error
            unreadable.append(bad)
    return found
