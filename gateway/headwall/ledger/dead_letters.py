"""Payloads that could not be taken: kept whole with the reason, each once however often it comes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
import sqlalchemy as sa

_KEEP = sa.text(
    "INSERT INTO dead_letters (digest, node, topic, payload, reason, detail, jid, seq, count, state, at_us) "
    "VALUES (:digest, :node, :topic, :payload, :reason, :detail, :jid, :seq, 1, 'open', :at_us) "
    "ON CONFLICT (digest) DO UPDATE SET count = dead_letters.count + 1, state = 'open'"
)
#: the column's width; a topic outside the contract may be longer
_TOPIC_CHARS = 128


class Letter(msgspec.Struct, frozen=True, gc=False):
    """What could not be taken.

    With `jid` and `seq` it makes that number durable. Without them it is a whole message, or a point that InfluxDB
    refuses while the reading itself is in the ledger.
    """

    topic: str
    payload: bytes
    reason: str
    detail: str
    received_us: int
    node: str | None = None
    jid: str | None = None
    seq: int | None = None


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
