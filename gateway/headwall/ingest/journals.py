"""How far each node journal is durable, which is what custody promises.

`through` is the largest number up to which every number from the floor on is stored (quarantined ones too), a dead
letter under its number, or a recorded gap. Numbers below the floor that never came are recorded as a gap and
passed; a number at or above the floor is never given up. Journals count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import sqlalchemy as sa

from headwall.ingest.sorting import JournalKey
from headwall.ledger import schema

#: how many rows one look ahead takes
_PAGE = 200


class Journal(msgspec.Struct):
    """A row of `journals` without its key."""

    floor: int = 1
    next: int = 0
    through: int = 0
    highest: int = 0


class Said(msgspec.Struct, frozen=True):
    """What the node says of a journal."""

    floor: int
    next: int


def settle(
    conn: sa.Connection,
    numbers: dict[JournalKey, list[tuple[int, int]]],
    said: dict[JournalKey, Said],
    now_us: int,
) -> dict[JournalKey, int]:
    """Bring the journals that a batch touches up to date; returns `through` of each.

    Args:
        numbers: first and last of the numbers that the batch made durable, all already written on `conn`.
        said: floor and next of journals whose node has spoken.
    """
    keys = set(numbers) | set(said)
    known = _load(conn, keys)
    rows = []
    for key in sorted(keys):
        journal = known.get(key) or Journal()
        _advance(conn, key, journal, numbers.get(key, ()))
        if key in said:
            _hear(conn, key, journal, said[key], now_us)
        rows.append((key, journal))
    _save(conn, [row for row in rows if row[0] in known], [row for row in rows if row[0] not in known], now_us)
    return {key: journal.through for key, journal in rows}


def _advance(conn: sa.Connection, key: JournalKey, journal: Journal, ranges: Iterable[tuple[int, int]]) -> None:
    complete = journal.highest <= journal.through  # nothing beyond `through` in the ledger before this batch
    for first, last in sorted(ranges):
        if first <= journal.through + 1:
            journal.through = max(journal.through, last)
        journal.highest = max(journal.highest, last)
    if not complete:
        _walk(conn, key, journal)


def _hear(conn: sa.Connection, key: JournalKey, journal: Journal, said: Said, now_us: int) -> None:
    journal.floor = max(journal.floor, said.floor)
    journal.next = max(journal.next, said.next)
    if journal.through < journal.floor - 1:
        _record_gaps(conn, key, journal, now_us)
        journal.through = journal.floor - 1
        journal.highest = max(journal.highest, journal.through)
        _walk(conn, key, journal)


def _walk(conn: sa.Connection, key: JournalKey, journal: Journal) -> None:
    """Move `through` over what the ledger already holds behind it."""
    while journal.through < journal.highest:
        start = journal.through
        for seq in _durable(conn, key, start + 1, start + _PAGE):
            if seq != journal.through + 1:
                return
            journal.through = seq
        if journal.through < start + _PAGE:
            return


def _durable(conn: sa.Connection, key: JournalKey, first: int, last: int) -> Iterator[int]:
    """The numbers from first to last that are stored or dead letters, in order, each once."""
    r, d = schema.readings.c, schema.dead_letters.c
    stored = sa.select(r.seq).where(r.node == key[0], r.jid == key[1], r.seq.between(first, last))
    refused = sa.select(d.seq).where(d.node == key[0], d.jid == key[1], d.seq.between(first, last))
    return iter(conn.execute(sa.union(stored, refused).order_by("seq")).scalars())


def _record_gaps(conn: sa.Connection, key: JournalKey, journal: Journal, now_us: int) -> None:
    """Note each run of numbers between `through` and the floor that never came: the node no longer has them."""
    gaps, first = [], journal.through + 1
    for seq in (*_durable(conn, key, first, journal.floor - 1), journal.floor):
        if seq > first:
            gaps.append((first, seq - 1))
        first = seq + 1
    if gaps:
        rows = [
            {"node": key[0], "jid": key[1], "first_seq": a, "last_seq": b, "reason": "below_floor", "at_us": now_us}
            for a, b in gaps
        ]
        conn.execute(schema.gaps.insert(), rows)


def _load(conn: sa.Connection, keys: set[JournalKey]) -> dict[JournalKey, Journal]:
    c = schema.journals.c
    found = {}
    nodes = sorted({node for node, _ in keys})
    for start in range(0, len(nodes), 500):
        query = sa.select(c.node, c.jid, c.floor, c.next, c.through, c.highest).where(
            c.node.in_(nodes[start : start + 500])
        )
        for node, jid, *rest in conn.execute(query):
            if (node, jid) in keys:
                found[node, jid] = Journal(*rest)
    return found


_UPDATE = (
    schema.journals.update()
    .where(schema.journals.c.node == sa.bindparam("of_node"), schema.journals.c.jid == sa.bindparam("of_jid"))
    .values({name: sa.bindparam(name) for name in ("floor", "next", "through", "highest", "last_seen_us")})
)


def _save(
    conn: sa.Connection,
    changed: list[tuple[JournalKey, Journal]],
    new: list[tuple[JournalKey, Journal]],
    now_us: int,
) -> None:
    if changed:
        rows = [{"of_node": key[0], "of_jid": key[1], "last_seen_us": now_us, **_fields(j)} for key, j in changed]
        conn.execute(_UPDATE, rows)
    if new:
        seen = {"first_seen_us": now_us, "last_seen_us": now_us}
        conn.execute(schema.journals.insert(), [{"node": k[0], "jid": k[1], **seen, **_fields(j)} for k, j in new])


def _fields(journal: Journal) -> dict[str, int]:
    return msgspec.structs.asdict(journal)
