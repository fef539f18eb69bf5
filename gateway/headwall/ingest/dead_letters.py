"""Reading the dead letters, to show them and to run them again once the cause is mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.errors import UnknownThingError
from headwall.ingest.sorting import Message
from headwall.ledger import schema


class DeadLetter(msgspec.Struct, frozen=True):
    """A row of `dead_letters`."""

    id: int
    node: str | None
    topic: str
    payload: bytes
    reason: str
    detail: str
    jid: str | None
    seq: int | None
    count: int
    state: str
    at_us: int

    @property
    def message(self) -> Message:
        """The message as it came."""
        return Message(self.topic, self.payload, self.at_us)


_C = schema.dead_letters.c
_COLUMNS = [_C[name] for name in DeadLetter.__struct_fields__]


def mark_taken(conn: sa.Connection, letter: DeadLetter) -> None:
    """Note that a later run has taken it."""
    conn.execute(schema.dead_letters.update().where(_C.id == letter.id).values(state="taken"))


def dead_letter(conn: sa.Connection, number: int) -> DeadLetter:
    """The dead letter with this number.

    Raises:
        UnknownThingError: there is none.
    """
    row = conn.execute(sa.select(*_COLUMNS).where(_C.id == number)).first()
    if row is None:
        raise UnknownThingError(f"no dead letter {number}; see `headwall dead-letters list --all`")
    return _letter(row)


def dead_letters(
    conn: sa.Connection, *, state: str | None = "open", reason: str | None = None, limit: int | None = None
) -> list[DeadLetter]:
    """Dead letters in the order they came; state None: of any state."""
    query = sa.select(*_COLUMNS).order_by(_C.id).limit(limit)
    if state is not None:
        query = query.where(_C.state == state)
    if reason is not None:
        query = query.where(_C.reason == reason)
    return [_letter(row) for row in conn.execute(query)]


def _letter(row: Sequence[Any]) -> DeadLetter:
    return DeadLetter(*tuple(row))
