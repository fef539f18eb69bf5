"""Payloads that could not be taken: kept whole with the reason, each once however often it comes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec
import sqlalchemy as sa

from headwall.ledger import schema

_KEEP = sa.text(
    "INSERT INTO dead_letters (digest, node, topic, payload, reason, detail, jid, seq, count, state, at_us) "
    "VALUES (:digest, :node, :topic, :payload, :reason, :detail, :jid, :seq, 1, 'open', :at_us) "
    "ON CONFLICT (digest) DO UPDATE SET count = dead_letters.count + 1, state = 'open'"
)
#: open dead letters of one node (or of no node) whose payload is kept, and the bytes of them; what comes beyond is
#: counted. A message of a whole pack earns no custody: the node still has what was in it, and sends it again.
MOST_LETTERS = 2_000
MOST_BYTES = 64_000_000
_BEYOND = "beyond_limit"
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
    """Write dead letters; one that is there already is counted once more.

    Beyond the limits above, those without a number are counted on one row a topic, reason "beyond_limit", and not
    kept, so that a node gone wild cannot fill the disk. Those with a number are: they are durable by this alone.
    """
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
        for letter in _within_limits(conn, letters)
    ]
    if rows:
        conn.execute(_KEEP, rows)


def _within_limits(conn: sa.Connection, letters: Iterable[Letter]) -> Iterator[Letter]:
    room: dict[str | None, tuple[int, int]] = {}
    for letter in letters:
        if letter.seq is not None:
            yield letter
            continue
        count, size = room[letter.node] if letter.node in room else _held(conn, letter.node)
        if count >= MOST_LETTERS or size >= MOST_BYTES:
            detail = f"{letter.node or 'no node'} has {count} open dead letters; see to those, this was not kept"
            letter = msgspec.structs.replace(letter, payload=b"", reason=_BEYOND, detail=detail)
        room[letter.node] = count + 1, size + len(letter.payload)
        yield letter


def _held(conn: sa.Connection, node: str | None) -> tuple[int, int]:
    """How many open dead letters without a number there are of a node, and their bytes."""
    c = schema.dead_letters.c
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sa.func.length(c.payload)), 0))
    count, size = conn.execute(query.where(c.node == node, c.seq.is_(None), c.state == "open")).one()
    return int(count), int(size)


def _digest(letter: Letter) -> str:
    parts = hashlib.sha256()
    for part in (letter.topic.encode(errors="surrogatepass"), letter.reason.encode(), letter.payload):
        parts.update(len(part).to_bytes(8, "big"))
        parts.update(part)
    return parts.hexdigest()
