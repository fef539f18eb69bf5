"""Payloads that could not be taken: kept whole with the reason, and run again once the cause is mended."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.errors import UnknownThingError
from headwall.ingest.sorting import Letter, Message
from headwall.ledger import schema

_KEEP = sa.text(
    "INSERT INTO dead_letters (digest, node, topic, payload, reason, detail, jid, seq, count, state, at_us) "
    "VALUES (:digest, :node, :topic, :payload, :reason, :detail, :jid, :seq, 1, 'open', :at_us) "
    "ON CONFLICT (digest) DO UPDATE SET count = dead_letters.count + 1, state = 'open'"
)
#: the column's width; a topic outside the contract may be longer
_TOPIC_CHARS = 128


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


def keep(conn: sa.Connection, letters: Iterable[Letter]) -> None:
    """Write dead letters; one that is there already is counted once more."""
    rows = [
        {
            "digest": _digest(letter),
            "node": letter.node,
            "topic": letter.topic.replace("\0", "\N{REPLACEMENT CHARACTER}")[:_TOPIC_CHARS],
            "payload": letter.payload,
            "reason": letter.reason,
            "detail": letter.detail.replace("\0", "\N{REPLACEMENT CHARACTER}"),
            "jid": letter.jid,
            "seq": letter.seq,
            "at_us": letter.received_us,
        }
        for letter in letters
    ]
    if rows:
        conn.execute(_KEEP, rows)


def _digest(letter: Letter) -> str:
    parts = hashlib.sha256()
    for part in (letter.topic.encode(errors="surrogatepass"), letter.reason.encode(), letter.payload):
        parts.update(len(part).to_bytes(8, "big"))
        parts.update(part)
    return parts.hexdigest()


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


def open_counts(conn: sa.Connection) -> dict[str, int]:
    """How many dead letters are open, by reason."""
    query = sa.select(_C.reason, sa.func.count()).where(_C.state == "open").group_by(_C.reason)
    return {row[0]: row[1] for row in conn.execute(query)}


def _letter(row: Sequence[Any]) -> DeadLetter:
    return DeadLetter(*tuple(row))
